import { Asked } from './verdicts.ts';

const REST = '(?:[ \\t\\n]|#[^\\n]*\\n)*';

/** What may stand between two parts of a text: nothing that the parser has passed over in silence. */
const GAPS = {
  leading: new RegExp(`^${REST}$`),
  /** Before a word, or the number of a redirection: without a blank it would belong to what stands before. */
  word: /^[ \t]+$/,
  redirect: /^[ \t]*$/,
  '|': new RegExp(`^[ \\t]*\\|${REST}$`),
  '|&': new RegExp(`^[ \\t]*\\|&${REST}$`),
  '&&': new RegExp(`^[ \\t]*&&${REST}$`),
  '||': new RegExp(`^[ \\t]*\\|\\|${REST}$`),
  statement: new RegExp(`^(?:[ \\t]*[;\\n]|[ \\t]+#[^\\n]*\\n)${REST}$`),
  trailing: new RegExp(`^(?:[ \\t]*[;\\n]|[ \\t]+(?=#)|[ \\t]*$)${REST}(?:#[^\\n]*)?$`),
} as const;
export type Gap = keyof typeof GAPS;

interface Span {
  readonly pos: number;
  readonly end: number;
}

/** Goes through a text beside its tree, and sees that the parts of the tree are all that stands in it. */
export class Layout {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** The next part stands behind a gap of this kind. */
  step(gap: Gap, { pos, end }: Span): void {
    this.#check(gap, this.#source.slice(this.#at, pos));
    if (pos < this.#at || end < pos) throw new Asked('Layout', 'the parts of the text overlap');
    this.#at = end;
  }

  end(): void {
    this.#check('trailing', this.#source.slice(this.#at));
  }

  #check(gap: Gap, between: string): void {
    // In a comment the end of a line ends it whatever stands before.
    const joined = between.includes('#') ? between : between.replaceAll('\\\n', '');
    if (!GAPS[gap].test(joined)) throw new Asked('Layout', 'the parser has passed over a part of the text');
  }
}
