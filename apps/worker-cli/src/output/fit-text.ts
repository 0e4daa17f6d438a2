import { jsonBytes } from './json-bytes.ts';

export interface FittedText {
  readonly text: string;
  /** Nothing was cut off. */
  readonly whole: boolean;
  /** The cut lies inside a line, since not even the first line fitted. */
  readonly insideLine: boolean;
}

/** The longest beginning, no surrogate pair broken, whose JSON takes at most `budget` bytes. */
const longestBeginning = (text: string, budget: number): string => {
  // No character takes less than one byte.
  let [low, high] = [0, Math.max(0, Math.min(text.length, budget))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonBytes(text.slice(0, middle)) <= budget) low = middle;
    else high = middle - 1;
  }
  const last = text.charCodeAt(low - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? low - 1 : low);
};

/** Cuts a text to a budget of JSON bytes: after a whole line where one fits, inside the first line otherwise. */
export const fitText = (text: string, budget: number): FittedText => {
  if (text.length <= budget && jsonBytes(text) <= budget) return { text, whole: true, insideLine: false };
  const beginning = longestBeginning(text, budget);
  const lineEnd = beginning.lastIndexOf('\n') + 1;
  if (lineEnd === 0) return { text: beginning, whole: false, insideLine: true };
  return { text: beginning.slice(0, lineEnd), whole: false, insideLine: false };
};
