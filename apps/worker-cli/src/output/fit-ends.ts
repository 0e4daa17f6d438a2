import type { FittedText } from './fit-text.ts';
import { jsonBytes } from './json-bytes.ts';

const GAP = '\n[… cut …]\n';
/** Of what is kept, the part from the beginning: the end of an output says more. */
const HEAD_SHARE = 0.4;

const cutTo = (text: string, length: number): string => {
  const head = text.slice(0, Math.floor(length * HEAD_SHARE));
  const tail = text.slice(text.length - Math.ceil(length * (1 - HEAD_SHARE)));
  return (head + GAP + tail).toWellFormed();
};

/** Beginning and end of a text whose JSON takes at most `budget` bytes; what was between them is left out and said. */
export const fitEnds = (text: string, budget: number): FittedText => {
  if (text.length <= budget && jsonBytes(text) <= budget) return { text, whole: true, insideLine: false };
  let [low, high] = [0, Math.min(text.length, budget)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonBytes(cutTo(text, middle)) <= budget) low = middle;
    else high = middle - 1;
  }
  return { text: low === 0 ? '' : cutTo(text, low), whole: false, insideLine: true };
};
