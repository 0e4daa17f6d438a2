/**
 * Escape sequences of terminals (ECMA-48), also broken ones: CSI, OSC and the other strings, and the short ones. Each is
 * bounded and ends at a newline, so that a program cannot hide the rest of its output in one.
 */
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that it is about.
  /\x1b(?:\[[0-?]{0,128}[ -/]{0,16}[@-~]?|[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?|[ -/]{0,8}[0-~]?)/g;

export const ESCAPE = 0x1b;
/** Bytes that the longest sequence takes. */
export const MAX_SEQUENCE = 4100;

/** A text without its escape sequences, and where each of its pieces stood before. */
export interface Stripped {
  readonly text: string;
  /** Pairs: where a piece begins in `text`, where it began in the source. Ascending. */
  readonly pieces: readonly (readonly [number, number])[];
}

/** `source` has one character a byte. */
export const stripCodes = (source: string): Stripped => {
  const parts: string[] = [];
  const pieces: [number, number][] = [];
  let kept = 0;
  let from = 0;
  const keep = (to: number): void => {
    if (to <= from) return;
    pieces.push([kept, from]);
    parts.push(source.slice(from, to));
    kept += to - from;
  };
  for (const match of source.matchAll(SEQUENCE)) {
    keep(match.index);
    from = match.index + match[0].length;
  }
  keep(source.length);
  return { text: parts.join(''), pieces };
};

/** Where the character at `offset` of the stripped text stood in the source. `offset` is of an existing character. */
export const sourceOffset = ({ pieces }: Stripped, offset: number): number => {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((pieces[middle]?.[0] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  const [start, from] = pieces[low] ?? [0, 0];
  return from + offset - start;
};
