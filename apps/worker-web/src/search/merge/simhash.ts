import { termsOf } from '../query/terms.ts';

const SHINGLE = 3;
/** With fewer shingles two texts are alike too easily. */
const LEAST_SHINGLES = 24;
const MOST_TERMS = 20_000;
/** Code units of a text that are looked at. */
const MOST_LENGTH = 128 * 1024;

/** 32 bits of a text (FNV-1a, and then mixed so that every bit depends on all of it). */
const hash32 = (text: string, seed: number): number => {
  let hash = (2_166_136_261 ^ seed) >>> 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/** 64 bits, as two words of 32. */
export type SimHash = readonly [number, number];

const vote = (votes: Int32Array, from: number, hash: number): void => {
  for (let bit = 0; bit < 32; bit += 1) votes[from + bit] = (votes[from + bit] ?? 0) + ((hash >>> bit) & 1 ? 1 : -1);
};

const wordOf = (votes: Int32Array, from: number): number => {
  let word = 0;
  for (let bit = 0; bit < 32; bit += 1) if ((votes[from + bit] ?? 0) > 0) word |= 1 << bit;
  return word >>> 0;
};

/** The fingerprint of a text by its runs of three terms: texts that say nearly the same differ in few bits. */
export const simHash = (text: string): SimHash | undefined => {
  const terms = termsOf(text.slice(0, MOST_LENGTH))
    .slice(0, MOST_TERMS)
    .map(({ term }) => term);
  const shingles = new Set(terms.slice(SHINGLE - 1).map((_, at) => terms.slice(at, at + SHINGLE).join(' ')));
  if (shingles.size < LEAST_SHINGLES) return undefined;
  const votes = new Int32Array(64);
  for (const shingle of shingles) {
    vote(votes, 0, hash32(shingle, 0));
    vote(votes, 32, hash32(shingle, 0x9e3779b9));
  }
  return [wordOf(votes, 0), wordOf(votes, 32)];
};

const bitsOf = (word: number): number => {
  let [left, count] = [word >>> 0, 0];
  for (; left !== 0; count += 1) left = (left & (left - 1)) >>> 0;
  return count;
};

/** Bits in which two fingerprints differ. */
export const distance = (a: SimHash, b: SimHash): number => bitsOf(a[0] ^ b[0]) + bitsOf(a[1] ^ b[1]);

const NEAR = 3;

/** Texts that are the same but for a few words. Short ones are never near: nothing can be said of them. */
export const isNear = (a: SimHash | undefined, b: SimHash | undefined): boolean =>
  a !== undefined && b !== undefined && distance(a, b) <= NEAR;
