import { Transform } from 'node:stream';
import type { Headers } from './forwarded-headers.ts';

/** Shorter ones occur by chance, and are no secrets worth the name. */
const LEAST_LENGTH = 8;

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** As JSON, an address or a page writes it of itself, without meaning to hide it. */
const spellings = (secret: string): string[] => {
  const json = JSON.stringify(secret).slice(1, -1);
  const address = encodeURIComponent(secret);
  const page = secret.replace(/[&<>"']/g, (sign) => HTML[sign] ?? sign);
  const lower = address.replace(/%../g, (code) => code.toLowerCase());
  return [...new Set([secret, json, json.replaceAll('/', '\\/'), address, lower, page])];
};

/** How many bytes at the end could be the beginning of a secret. */
const openEnd = (bytes: Buffer, secrets: readonly Buffer[]): number => {
  const longest = Math.max(...secrets.map(({ length }) => length));
  for (let length = Math.min(longest - 1, bytes.length); length > 0; length -= 1) {
    const at = bytes.length - length;
    if (secrets.some((secret) => secret.length > length && bytes.compare(secret, 0, length, at) === 0)) return length;
  }
  return 0;
};

const cover = (bytes: Buffer, secrets: readonly Buffer[]): void => {
  for (const secret of secrets) {
    for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length)) {
      bytes.fill('*', at, at + secret.length);
    }
  }
};

/** Covers secrets in what a host answers, each byte by one `*`, so that no length changes. */
export interface SecretMask {
  headers(headers: Headers): Headers;
  /** For one body. Holds back only what may be the beginning of a secret. */
  body(): Transform;
}

/** Nothing when there is nothing to cover. */
export const maskSecrets = (secrets: readonly string[]): SecretMask | undefined => {
  const long = secrets.filter(({ length }) => length >= LEAST_LENGTH);
  const texts = long.flatMap(spellings).sort((a, b) => b.length - a.length);
  if (texts.length === 0) return undefined;
  const covered = (value: string): string =>
    texts.reduce((text, secret) => text.replaceAll(secret, () => '*'.repeat(secret.length)), value);
  const sought = texts.map((text) => Buffer.from(text, 'latin1'));
  return {
    headers: (headers) =>
      Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          typeof value === 'string' ? covered(value) : value.map(covered),
        ]),
      ),
    body: () => {
      let held: Buffer = Buffer.alloc(0);
      return new Transform({
        transform(chunk: Buffer, _, done) {
          const bytes = Buffer.concat([held, chunk]);
          cover(bytes, sought);
          const end = bytes.length - openEnd(bytes, sought);
          held = bytes.subarray(end);
          done(null, bytes.subarray(0, end));
        },
        flush(done) {
          done(null, held);
        },
      });
    },
  };
};
