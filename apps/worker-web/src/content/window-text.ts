/** A part of a text, and where the next one begins. */
export interface TextWindow {
  readonly text: string;
  readonly from: number;
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

const isLow = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
};

/** So that no character is broken: the place itself, or the one before it. */
const between = (text: string, at: number): number => (at > 0 && at < text.length && isLow(text, at) ? at - 1 : at);

/** The furthest end that still fits; a longer part never fits where a shorter one does not. */
const longestEnd = (text: string, from: number, most: number, fits: (part: string) => boolean): number => {
  const furthest = Math.min(text.length, from + most);
  if (fits(text.slice(from, furthest))) return furthest;
  let [low, high] = [from, furthest - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(text.slice(from, middle))) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** After a line, else after a word, in the last quarter of a part; else where it ends. */
const softEnd = (text: string, from: number, end: number): number => {
  const least = from + Math.floor((end - from) * 0.75);
  for (const sign of ['\n', ' ']) {
    const at = text.lastIndexOf(sign, end - 1);
    if (at >= least && at >= from) return at + 1;
  }
  return end;
};

/**
 * At most `most` UTF-16 code units from `from` on, as many as `fits` takes; it ends after a line or a word where it can,
 * and breaks no character.
 */
export const windowText = (text: string, from: number, most: number, fits: (part: string) => boolean): TextWindow => {
  const begin = between(text, Math.min(from, text.length));
  const end = longestEnd(text, begin, most, fits);
  if (end >= text.length) return { text: text.slice(begin), from: begin, next: undefined };
  const next = between(text, softEnd(text, begin, between(text, end)));
  return { text: text.slice(begin, next), from: begin, next };
};
