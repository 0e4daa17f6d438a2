import { type HttpOperation, isSafeMethod } from '@toolfabric/contract';
import { canonicalJson, FabricError } from '@toolfabric/kernel';

export type Arguments = Readonly<Record<string, unknown>>;

/** One request, whole: nothing of it is decided later. */
export interface BuiltRequest {
  readonly method: HttpOperation['method'];
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const MAX_ADDRESS = 8_000;
const MAX_HEADER = 2_000;

const refuse = (argument: string, expected: string): never => {
  throw new FabricError('invalid_arguments', `${argument} cannot be sent`, {
    fields: [{ field: `/${argument.replaceAll('~', '~0').replaceAll('/', '~1')}`, expected }],
  });
};

/** A plain value as text; undefined for what is none. */
const plainText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return String(value);
  return undefined;
};

const needText = (argument: string, value: unknown): string =>
  plainText(value) ?? refuse(argument, 'a text, a number or a boolean');

const given = (args: Arguments, name: string): unknown => (Object.hasOwn(args, name) ? args[name] : undefined);

const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** A value that stays inside its segment, whoever reads the path. */
const segmentText = (args: Arguments, argument: string): string => {
  const text = needText(argument, given(args, argument));
  if (text === '' || /[/\\;\p{Cc}]/u.test(text))
    return refuse(argument, 'a text without "/", "\\", ";" and control characters');
  return text;
};

const pathOf = ({ path }: HttpOperation, args: Arguments): string =>
  path
    .split('/')
    .map((segment) => {
      const names: string[] = [];
      const fill = (_: string, name: string) => {
        names.push(name);
        return segmentText(args, name);
      };
      const plain = segment.replace(/\{([^{}]+)\}/g, fill);
      // Only what a value has made is refused here: the template itself has no such segment.
      if (/^\.{1,2}$/.test(plain)) return refuse(names[0] ?? '', 'no "." and ".." as a part of a path');
      return segment.replace(/\{([^{}]+)\}/g, (_, name: string) => escaped(segmentText(args, name)));
    })
    .join('/');

const listText = (argument: string, value: readonly unknown[]): string[] =>
  value.map((item) => needText(argument, item));

/** In the order of their names, whatever the order of the arguments. */
const queryOf = ({ query = [] }: HttpOperation, args: Arguments): string => {
  const pairs = query
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, argument, list }) => {
      const value = given(args, argument);
      if (value === undefined || value === null) return [];
      if (!Array.isArray(value)) return [`${escaped(name)}=${escaped(needText(argument, value))}`];
      const texts = listText(argument, value);
      if (list === undefined) return refuse(argument, 'one value');
      if (list === 'repeat') return texts.map((text) => `${escaped(name)}=${escaped(text)}`);
      return texts.length === 0 ? [] : [`${escaped(name)}=${texts.map(escaped).join(',')}`];
    });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

/** No argument ends a header, or begins another one. */
const headerText = (argument: string, value: unknown): string => {
  const text = needText(argument, value);
  if (!/^[ -~]*$/.test(text) || text.length > MAX_HEADER || text !== text.trim())
    return refuse(argument, `at most ${MAX_HEADER} visible ASCII characters, without space at the ends`);
  return text;
};

const headersOf = (operation: HttpOperation, args: Arguments, key: string): Record<string, string> => {
  const { headers = [], precondition, key_header: keyHeader } = operation;
  const places = [
    ...headers,
    ...(precondition === undefined ? [] : [{ name: precondition.header, argument: precondition.argument }]),
  ];
  const set = places.flatMap(({ name, argument }): [string, string][] => {
    const value = given(args, argument);
    return value === undefined || value === null ? [] : [[name, headerText(argument, value)]];
  });
  const ours: [string, string][] = keyHeader === undefined || isSafeMethod(operation.method) ? [] : [[keyHeader, key]];
  return Object.fromEntries([...set, ...ours]);
};

const bodyOf = ({ body }: HttpOperation, args: Arguments): Uint8Array | undefined => {
  if (body === undefined) return undefined;
  if ('argument' in body) {
    const value = given(args, body.argument);
    return value === undefined ? undefined : Buffer.from(canonicalJson(value));
  }
  const fields = body.fields.filter((name) => given(args, name) !== undefined);
  return Buffer.from(canonicalJson(Object.fromEntries(fields.map((name) => [name, args[name]]))));
};

const addressOf = (operation: HttpOperation, args: Arguments): URL => {
  const text = `${operation.base}${pathOf(operation, args)}${queryOf(operation, args)}`;
  if (text.length > MAX_ADDRESS)
    refuse(operation.query?.[0]?.argument ?? '', `an address of at most ${MAX_ADDRESS} characters`);
  const url = new URL(text);
  // Whatever a reader of addresses would change in it was not meant by the one who declared it.
  if (url.href !== text)
    throw new FabricError('invalid_arguments', 'the arguments make an address that can be read in two ways');
  return url;
};

/**
 * The request that an operation and arguments make; equal arguments make equal requests. `key` is what the other side
 * knows a repeated request by, `agent` how this worker calls itself.
 *
 * Throws `invalid_arguments` for a value that would leave its place: its segment of the path, its header, its pair of
 * the query.
 */
export const buildRequest = (
  operation: HttpOperation,
  args: Arguments,
  { agent, key }: { readonly agent: string; readonly key: string },
): BuiltRequest => {
  const url = addressOf(operation, args);
  const body = bodyOf(operation, args);
  const headers = {
    accept: 'application/json, */*;q=0.5',
    'accept-encoding': 'gzip, br',
    'user-agent': agent,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headersOf(operation, args, key),
  };
  return { method: operation.method, url, headers, ...(body === undefined ? {} : { body }) };
};
