import { isUtf8 } from 'node:buffer';

const SIGNATURES: readonly (readonly [string, string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['47494638', 'image/gif'],
  ['25504446', 'application/pdf'],
  ['504b0304', 'application/zip'],
  ['1f8b08', 'application/gzip'],
  ['7f454c46', 'application/x-elf'],
  ['28b52ffd', 'application/zstd'],
  ['fd377a585a00', 'application/x-xz'],
  ['425a68', 'application/x-bzip2'],
  ['53514c69746520', 'application/vnd.sqlite3'],
  ['0061736d', 'application/wasm'],
];
const SAMPLE = 8192;
const MAX_SHARE = 0.1;

/** The media type that the first bytes say, of formats that are never text. */
export const signatureOf = (head: Uint8Array): string | undefined => {
  const start = Buffer.from(head.subarray(0, 16)).toString('hex');
  return SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
};

/** Bytes that stand in no text: controls but white space, backspace, bell and escape, and what is not UTF-8. */
const strangeBytes = (sample: Uint8Array): number => {
  let strange = 0;
  for (const byte of sample) if ((byte < 32 && !(byte >= 7 && byte <= 13) && byte !== 27) || byte === 127) strange += 1;
  if (isUtf8(sample)) return strange;
  const decoded = Buffer.from(sample).toString('utf8');
  for (const character of decoded) if (character === '\ufffd') strange += 1;
  return strange;
};

const isStrange = (sample: Uint8Array): boolean =>
  sample.length > 0 && strangeBytes(sample) > Math.max(2, MAX_SHARE * sample.length);

/** Whether a stream with these ends is no text. */
export const isBinary = (head: Uint8Array, tail: Uint8Array): boolean =>
  signatureOf(head) !== undefined || isStrange(head.subarray(0, SAMPLE)) || isStrange(tail.subarray(-SAMPLE));
