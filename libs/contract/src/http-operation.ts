import { z } from 'zod';

/** Methods that change nothing on the other side, by what HTTP says of them. */
export const SAFE_METHODS = ['GET', 'HEAD'] as const;
export const HttpMethod = z.enum([...SAFE_METHODS, 'POST', 'PUT', 'PATCH', 'DELETE']);
export type HttpMethod = z.infer<typeof HttpMethod>;

export const isSafeMethod = (method: HttpMethod): boolean => (SAFE_METHODS as readonly string[]).includes(method);

const HEADER = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Headers that say how a message travels, who asks, or where to: no argument ever sets them. */
const RESERVED = new Set(
  (
    'accept accept-encoding authorization cdn-loop connection content-encoding content-length content-type cookie cookie2 ' +
    'date expect forwarded host http2-settings keep-alive max-forwards origin proxy-authenticate proxy-authorization ' +
    'proxy-connection referer set-cookie te toolfabric-egress trailer transfer-encoding true-client-ip upgrade user-agent ' +
    'via x-client-ip x-cluster-client-ip x-host x-http-method x-http-method-override x-method-override x-real-ip ' +
    'x-rewrite-url'
  ).split(' '),
);
/** By these a proxy tells who asked it for what; a service behind one believes them. */
const OF_PROXIES = /^(?:sec|proxy|cf|x-forwarded|x-original|x-envoy|x-amzn|x-goog|x-auth-request|x-remote|x-ssl)-/;
/** Of an answer: what would let its reader act as somebody else. */
const SECRET_ANSWERS = new Set('authentication-info proxy-authentication-info set-cookie set-cookie2'.split(' '));

/** The name of a request header that an interface may give a meaning to, in lower case. */
export const RequestHeader = z
  .string()
  .regex(HEADER, 'the name of a header in lower case')
  .refine(
    (name) => !RESERVED.has(name) && !OF_PROXIES.test(name),
    'this header says how a message travels or who asks',
  );

const AnswerHeader = z
  .string()
  .regex(HEADER, 'the name of a header in lower case')
  .refine((name) => !SECRET_ANSWERS.has(name), 'this header holds a secret');

/** The name of one argument of the tool. */
const Argument = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,62}$/, 'the name of an argument');

const isPlainBase = (text: string): boolean => {
  if (!/^https?:\/\/[!-~]{1,480}$/.test(text) || text.endsWith('/') || !URL.canParse(text)) return false;
  const { href, username, password, search, hash, pathname } = new URL(text);
  const isBare = username === '' && password === '' && search === '' && hash === '';
  return isBare && !/[;%]|\/\//.test(pathname) && href === `${text}${pathname === '/' ? '/' : ''}`;
};

/** Scheme, host, port and beginning of the path of an interface, in plain form and without a closing slash. */
export const BaseAddress = z
  .string()
  .refine(isPlainBase, 'an http(s) address in plain form, without a user, a query and a closing slash');

const SEGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]|\{[A-Za-z_][A-Za-z0-9_.-]{0,62}\})+$/;
const isTemplate = (text: string): boolean =>
  text
    .slice(1)
    .split('/')
    .every(
      (part, at, all) => (part === '' ? at > 0 && at === all.length - 1 : SEGMENT.test(part)) && !/^\.\.?$/.test(part),
    );

/** Path below the base, `/issues/{number}/comments`: in braces stand names of arguments, each inside one segment. */
export const PathTemplate = z
  .string()
  .max(500)
  .startsWith('/')
  .refine((text) => text === '/' || isTemplate(text), 'a path of plain segments with arguments in braces');

/** Where one argument goes; a list of plain values repeats the name, or is joined with commas. */
const QueryPlace = z.strictObject({
  name: z.string().regex(/^[!-~]{1,100}$/, 'a name of visible ASCII characters'),
  argument: Argument,
  list: z.enum(['repeat', 'comma']).optional(),
});
export type QueryPlace = z.infer<typeof QueryPlace>;

/**
 * One operation of a declared interface, compiled: what stands in `execution.options` of a contract whose handler is
 * `http.request`. It says all that a request is made of; the arguments only fill it.
 */
export const HttpOperation = z.strictObject({
  base: BaseAddress,
  method: HttpMethod,
  path: PathTemplate,
  query: z.array(QueryPlace).max(64).optional(),
  headers: z
    .array(z.strictObject({ name: RequestHeader, argument: Argument }))
    .max(16)
    .optional(),
  /** JSON: one argument as it is, or an object of these arguments, as far as they are given. */
  body: z
    .union([z.strictObject({ argument: Argument }), z.strictObject({ fields: z.array(Argument).min(1).max(200) })])
    .optional(),
  /** Statuses that say that it was done. */
  success: z.array(z.int().min(200).max(299)).min(1).max(10),
  /** Statuses after which it is certain that nothing was changed. */
  refusals: z.array(z.int().min(400).max(499)).max(100).optional(),
  /** The header that carries the expected version, and the argument that it is. */
  precondition: z.strictObject({ header: z.enum(['if-match', 'if-unmodified-since']), argument: Argument }).optional(),
  /** The header by which the other side knows a repeated request: it carries the operation key of the call. */
  key_header: RequestHeader.optional(),
  /** Headers of the answer that are shown, beside `etag`, `location` and `last-modified`. */
  show: z.array(AnswerHeader).max(16).optional(),
  /** JSON pointer into the body of the answer: the id of what was written. */
  id: z
    .string()
    .max(200)
    .regex(/^(?:\/[^/]+)+$/, 'a JSON pointer')
    .optional(),
});
export type HttpOperation = z.infer<typeof HttpOperation>;

/** Names of the arguments that a path template is filled with, in its order. */
export const pathArguments = (path: string): string[] =>
  [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name);
