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

/** Before a part, as bash joins it: in a comment the end of a line ends it whatever stands before. */
const joinLines = (text: string): string => (text.includes('#') ? text : text.replaceAll('\\\n', ''));

/**
 * Bash reads the longest operator that it can: `|` and `&>` with nothing between them are `|&` and `>`, and digits right
 * before `<` or `>` are a descriptor, whatever stands before them.
 */
const isTorn = (before: string, gap: string, next: string): boolean =>
  (/[|;]$/.test(gap) && next.startsWith('&')) || (gap === '' && /(^|[\s<>&|])\d+$/.test(before) && /^[<>]/.test(next));

/** Goes through a text beside its tree, and sees that the parts of the tree are all that stands in it. */
export class Layout {
  readonly #source: string;
  #before = '';
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** The next part stands behind a gap of this kind. */
  step(gap: Gap, { pos, end }: Span): void {
    if (pos < this.#at || end < pos) throw new Asked('Layout', 'the parts of the text overlap');
    const part = this.#source.slice(pos, end).replaceAll('\\\n', '');
    const between = this.#check(gap, this.#source.slice(this.#at, pos));
    if (isTorn(this.#before, between, part)) throw new Asked('Layout', 'it is not clear where an operator ends');
    this.#before = part;
    this.#at = end;
  }

  end(): void {
    this.#check('trailing', this.#source.slice(this.#at));
  }

  #check(gap: Gap, between: string): string {
    const joined = joinLines(between);
    if (!GAPS[gap].test(joined)) throw new Asked('Layout', 'the parser has passed over a part of the text');
    return joined;
  }
}
