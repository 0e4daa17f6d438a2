const FOUR_NEWLINES = 0x0a0a0a0a;
const LOW_BITS = 0x7f7f7f7f;
/** Words after which a count of one byte may be full. */
const MAX_WORDS = 255;

const countSlowly = (bytes: Uint8Array, from: number, to: number): number => {
  let count = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === 10) count += 1;
  return count;
};

/** Newlines in `[from, to)`, four bytes at a time: a byte of `word ^ newlines` is zero where a newline stands. */
export const countNewlines = (bytes: Uint8Array, from: number, to: number): number => {
  if (to - from < 64) return countSlowly(bytes, from, to);
  const lead = (4 - ((bytes.byteOffset + from) & 3)) & 3;
  const length = (to - from - lead) >> 2;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + from + lead, length);
  let count = countSlowly(bytes, from, from + lead);
  for (let start = 0; start < length; start += MAX_WORDS) {
    const stop = Math.min(length, start + MAX_WORDS);
    let counts = 0;
    for (let at = start; at < stop; at += 1) {
      const word = (words[at] as number) ^ FOUR_NEWLINES;
      counts += (~(((word & LOW_BITS) + LOW_BITS) | word) >>> 7) & 0x01010101;
    }
    count += (counts & 255) + ((counts >>> 8) & 255) + ((counts >>> 16) & 255) + (counts >>> 24);
  }
  return count + countSlowly(bytes, from + lead + 4 * length, to);
};
