import type { Outcome, Truncation } from '@toolfabric/contract';
import { type Json, sha256Hex } from '@toolfabric/kernel';
import { estimateTokens, markUntrusted } from '@toolfabric/results';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { cleanUntrusted } from '../content/clean-untrusted.ts';
import type { Content } from '../content/read-content.ts';
import { type TextWindow, windowText } from '../content/window-text.ts';
import type { Fetched } from '../fetch/fetched.ts';
import type { FetchArgs } from './fetch-args.ts';
import { parseAddress } from './parse-address.ts';
import type { Copy } from './store-copies.ts';

export interface Reading {
  readonly fetched: Fetched;
  readonly content: Content;
  /** All text, redacted. */
  readonly text: string;
}

export interface Copies {
  readonly body: Copy | undefined;
  readonly text: Copy | undefined;
}

/** Of all headers, those that say something about the content or about when to ask again. */
const SHOWN_HEADERS = ['content-length', 'last-modified', 'etag', 'cache-control', 'content-language', 'retry-after'];
const MAX_HEADER = 200;
const MAX_HOP = 500;
/** Bytes and tokens for what the answer says beside the text, and for marks that are longer than what they stand for. */
const SPARE_BYTES = 1_024;
const SPARE_TOKENS = 300;
const MAX_RETRY_SECONDS = 86_400;

const clean = (text: string, most: number): string => cleanUntrusted(text).text.slice(0, most).toWellFormed();
const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const given = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));

/** Everything that the outside wrote, and where it comes from. */
const untrustedOf = ({ fetched, content }: Reading): Record<string, Json> => {
  const { address, hops, unfollowed, headers } = fetched;
  const { title, byline, published, language, canonical, mediaType } = content;
  const shown = SHOWN_HEADERS.map((name) => [name, clean(headers[name] ?? '', MAX_HEADER)]);
  return {
    origin: new URL(address).origin,
    address: clean(address, 2_000),
    ...(hops.length === 0 ? {} : { redirects: hops.map(({ status, to }) => ({ status, to: clean(to, MAX_HOP) })) }),
    ...(unfollowed === undefined ? {} : { leads_to: clean(unfollowed.to, 2_000) }),
    media_type: clean(mediaType, MAX_HEADER),
    headers: given(Object.fromEntries(shown)),
    ...given({ title, byline, published, language, canonical }),
  };
};

const retryOf = (header: string | undefined): { retry_after_seconds?: number } => {
  const seconds = /^\d{1,9}$/.test(header ?? '') ? Number(header) : undefined;
  return seconds === undefined ? {} : { retry_after_seconds: Math.min(seconds, MAX_RETRY_SECONDS) };
};

/** What this side says about the answer. */
const factsOf = (args: FetchArgs, { fetched, content, text }: Reading): Record<string, Json> => {
  const { status, body, isCut, receivedBytes, isRevalidated, unfollowed, headers } = fetched;
  const { form, charset, charsetBy, by, hiddenElements, hiddenCharacters } = content;
  return {
    status,
    method: args.method,
    form,
    ...(form === 'html' ? { format: args.format, read_by: by } : {}),
    ...(charset === undefined ? {} : { charset, charset_from: charsetBy ?? 'guess' }),
    body_bytes: body.length,
    received_bytes: receivedBytes,
    ...(body.length === 0 ? {} : { sha256: sha256Hex(body) }),
    ...(isCut ? { body_cut: true } : {}),
    ...(isRevalidated ? { unchanged_since_earlier_fetch: true } : {}),
    ...(unfollowed === undefined ? {} : { not_followed: unfollowed.why }),
    ...retryOf(headers['retry-after']),
    ...(hiddenElements + hiddenCharacters === 0
      ? {}
      : { left_out: { hidden_elements: hiddenElements, hidden_characters: hiddenCharacters } }),
    total_chars: text.length,
  };
};

const copyOf = (name: string, copy: Copy | undefined): Record<string, Json> => {
  if (copy === undefined) return {};
  return 'stored' in copy ? { [`${name}_artifact`]: copy.stored.id } : { [`${name}_not_stored`]: copy.missing };
};

const SAID: Readonly<Record<Content['form'], string>> = {
  html: 'a page',
  text: 'text',
  json: 'JSON',
  pdf: 'a PDF',
  binary: 'bytes that are no text',
};
const WHY = {
  not_permitted: 'this call may not go there',
  not_http: 'it is no http or https address',
  less_secure: 'it leads from https to http',
  has_user: 'it carries a user or a password',
} as const;

/** In our own words alone: nothing that the outside wrote can stand in it. */
const summaryOf = (args: FetchArgs, { fetched, content, text }: Reading, { from, next }: TextWindow): string => {
  const { status, unfollowed, body, isCut } = fetched;
  const host = new URL(args.url).host;
  if (unfollowed !== undefined)
    return `${host} answered with status ${status}, a redirect that was not followed since ${WHY[unfollowed.why]}. Its target stands in untrusted.leads_to; call again with it if it is what you want.`;
  const what = body.length === 0 ? 'without a body' : `with ${SAID[content.form]}`;
  const shown = next === undefined && from === 0 ? '' : `, characters ${from} to ${next ?? text.length}`;
  const length = text.length === 0 ? '' : ` (${text.length} characters${shown})`;
  const go = next === undefined ? '' : ` Go on with from: ${next}.`;
  return `${host} answered with status ${status} ${what}${length}.${isCut ? ' The body was longer than is read.' : ''}${go}`;
};

const truncationOf = ({ fetched, text }: Reading, window: TextWindow): Truncation[] => {
  const declared = Number(fetched.headers['content-length'] ?? 0);
  const { length } = fetched.body;
  const shown = Buffer.byteLength(window.text);
  const isPart = window.from > 0 || window.next !== undefined;
  return [
    ...(isPart ? [{ stream: 'text', kept: shown, total: Buffer.byteLength(text), unit: 'bytes' as const }] : []),
    ...(fetched.isCut
      ? [{ stream: 'body', kept: length, total: Math.max(length + 1, declared || 0), unit: 'bytes' as const }]
      : []),
  ];
};

/** The part of the text that fits beside everything else, and the outcome once it is known what became of the copies. */
export const fetchOutcome = (ctx: ToolContext, args: FetchArgs, reading: Reading) => {
  const facts = factsOf(args, reading);
  const untrusted = untrustedOf(reading);
  const around = { ...facts, untrusted };
  const bytes = ctx.limits.outputBytes - jsonBytes(around) - SPARE_BYTES;
  const tokens = (ctx.outputTokens ?? Number.POSITIVE_INFINITY) - estimateTokens(JSON.stringify(around)) - SPARE_TOKENS;
  const fits = (part: string) => jsonBytes(part) <= bytes && (part.length <= tokens || estimateTokens(part) <= tokens);
  const window = windowText(reading.text, args.from, args.max_chars, fits);
  const { next, from } = window;
  const range = { from, ...(next === undefined ? {} : { next_from: next }) };
  const truncation = truncationOf(reading, window);
  const { address } = reading.fetched;
  const ready = (copies: Copies): Outcome => {
    const stored = [copies.body, copies.text].flatMap((copy) => (copy && 'stored' in copy ? [copy.stored.id] : []));
    const data = {
      ...facts,
      ...range,
      ...copyOf('body', copies.body),
      ...copyOf('text', copies.text),
      untrusted: { ...untrusted, text: window.text },
    };
    const outcome: Outcome = {
      status: 'ok',
      summary: summaryOf(args, reading, window),
      data,
      sideEffect: 'none',
      ...(stored.length === 0 ? {} : { artifacts: stored }),
      // The address that was asked for: the one that answered is the outside's word.
      evidence: [
        {
          kind: 'url',
          ref: parseAddress(args.url).href.slice(0, 1_000),
          detail: `sha256:${sha256Hex(reading.fetched.body)}`,
        },
      ],
      ...(truncation.length === 0 ? {} : { truncation }),
      trust: 'untrusted',
    };
    return markUntrusted(outcome, `web:${new URL(address).origin}`);
  };
  return { window, with: ready };
};
