import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { Refused } from '../refuse.ts';
import type { Headers } from './forwarded-headers.ts';

const UNPACKERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
const MOST_LAYERS = 2;
const WITHOUT_BODY = new Set([204, 304]);

export interface Unpacked {
  readonly headers: Headers;
  /** From the bytes that came to the ones that were packed, outermost first; none where nothing is packed. */
  readonly layers: readonly Duplex[];
}

const headerOf = (headers: Headers, wanted: string): string =>
  Object.entries(headers)
    .filter(([name]) => name.toLowerCase() === wanted)
    .flatMap(([, value]) => value)
    .join(',');

const without = (headers: Headers, gone: readonly string[]): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !gone.includes(name.toLowerCase())));

/**
 * An answer that must be looked through, without its packing: a host may pack although nobody asked for it. Throws
 * `Refused` for a packing that is unknown, too deep, or of a part.
 */
export const unpack = (answer: IncomingMessage, headers: Headers, method: string): Unpacked => {
  const codings = headerOf(headers, 'content-encoding')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const status = answer.statusCode ?? 0;
  if (codings.length === 0 || method === 'HEAD' || WITHOUT_BODY.has(status)) return { headers, layers: [] };
  const makers = codings.reverse().map((coding) => UNPACKERS[coding]);
  if (makers.length > MOST_LAYERS || status === 206) throw new Refused('response_malformed');
  const layers = makers.map((make) => {
    if (make === undefined) throw new Refused('response_malformed');
    return make();
  });
  return { headers: without(headers, ['content-encoding', 'content-length', 'content-md5', 'digest']), layers };
};
