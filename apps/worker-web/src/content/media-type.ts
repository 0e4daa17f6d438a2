/** What can be made of a body. */
export type ContentForm = 'html' | 'text' | 'json' | 'pdf' | 'binary';

export interface MediaType {
  /** Lower case, without parameters; `unknown/unknown` where none is named. */
  readonly essence: string;
  readonly charset: string | undefined;
}

const TOKEN = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;

/** Of a `Content-Type`; what is no media type is taken for bytes. */
export const parseMediaType = (header: string | undefined): MediaType => {
  if (header === undefined || header.trim() === '') return { essence: 'unknown/unknown', charset: undefined };
  const [first = '', ...parameters] = header.slice(0, 500).split(';');
  const essence = first.trim().toLowerCase();
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s;]+)"?\s*$/i.exec(parameter)?.[1])
    .find((name) => name !== undefined);
  return { essence: TOKEN.test(essence) ? essence : 'application/octet-stream', charset };
};

const TEXT = /^text\/|[/+](?:xml|yaml|toml|javascript|x-sh|csv)$|^application\/(?:x-ndjson|ecmascript)$/;

/** Bytes that no text has: a NUL, unless they are UTF-16 with its mark. */
const looksBinary = (bytes: Buffer): boolean => {
  const head = bytes.subarray(0, 1_024);
  const isWide = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return !isWide && head.includes(0);
};

/** By its type, and by its first bytes where the type says something else: a server may lie, and nothing is run. */
export const formOf = ({ essence, charset }: MediaType, bytes: Buffer): ContentForm => {
  if (bytes.subarray(0, 1_024).includes('%PDF-')) return 'pdf';
  if (essence === 'application/pdf') return 'binary';
  if (looksBinary(bytes) && !/^utf-?16|^utf-?32/i.test(charset ?? '')) return 'binary';
  if (essence === 'text/html' || essence === 'application/xhtml+xml') return 'html';
  if (essence === 'application/json' || essence.endsWith('+json')) return 'json';
  if (TEXT.test(essence)) return 'text';
  const isUnknown = essence === 'unknown/unknown';
  if (!isUnknown && essence !== 'application/octet-stream') return 'binary';
  if (/^\s*<(?:!doctype html|html)\b/i.test(bytes.toString('latin1', 0, 512))) return 'html';
  return isUnknown ? 'text' : 'binary';
};
