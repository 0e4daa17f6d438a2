import { Asked } from './verdicts.ts';

/** What bash does with these outside of quotes is for a shell. */
const SPECIAL: Readonly<Record<string, readonly [node: string, why: string]>> = {
  '*': ['Glob', 'the names that a pattern matches are not known before'],
  '?': ['Glob', 'the names that a pattern matches are not known before'],
  '[': ['Glob', 'the names that a pattern matches are not known before'],
  '~': ['Tilde', 'a home directory is put in its place'],
  '{': ['BraceExpansion', 'braces make several words of one'],
  '}': ['BraceExpansion', 'braces make several words of one'],
  '`': ['CommandExpansion', 'the output of a command is put in its place'],
};

const DYNAMIC: readonly [node: string, why: string] = [
  'Expansion',
  'a variable or the output of a command is put in its place',
];
/** After a `$` these leave it a plain character inside double quotes. */
const HARMLESS_AFTER_DOLLAR = /^[ "|),./]/;
const ESCAPED_IN_QUOTES = new Set(['$', '`', '"', '\\']);
const NEVER_IN_A_WORD = /[\s<>|&;()]/;

const ask = ([node, why]: readonly [node: string, why: string]): never => {
  throw new Asked(node, why);
};

/** Reads the text of one word from left to right. */
class Reader {
  value = '';
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string {
    while (this.#at < this.#text.length) this.#next();
    return this.value;
  }

  #take(): string {
    const character = this.#text[this.#at] ?? ask(['Word', 'a quotation does not end']);
    this.#at += 1;
    return character;
  }

  #next(): void {
    const character = this.#take();
    if (character === "'") return this.#single();
    if (character === '"') return this.#double();
    if (character === '\\') return this.#escape();
    if (character === '$' && this.#at < this.#text.length) return ask(DYNAMIC);
    const special = Object.hasOwn(SPECIAL, character) ? SPECIAL[character] : undefined;
    if (special !== undefined) return ask(special);
    if (NEVER_IN_A_WORD.test(character) || (character === '#' && this.#at === 1))
      return ask(['Word', 'it is not clear where a word ends']);
    this.value += character;
  }

  #escape(): void {
    const character = this.#take();
    if (character !== '\n') this.value += character;
  }

  #single(): void {
    for (let next = this.#take(); next !== "'"; next = this.#take()) this.value += next;
  }

  #double(): void {
    for (let next = this.#take(); next !== '"'; next = this.#take()) {
      if (next === '`') ask(SPECIAL['`'] ?? DYNAMIC);
      if (next === '$' && !HARMLESS_AFTER_DOLLAR.test(this.#text.slice(this.#at))) ask(DYNAMIC);
      if (next === '\\') this.#escapeInQuotes();
      else this.value += next;
    }
  }

  #escapeInQuotes(): void {
    const character = this.#take();
    if (character === '\n') return;
    this.value += ESCAPED_IN_QUOTES.has(character) ? character : `\\${character}`;
  }
}

/**
 * The one value that a word of a shell text has: literal characters, quotations without substitution, escapes. Reads
 * the text itself, so that two readers have to agree. Throws `Asked` for anything else.
 */
export const staticWord = ({ text, value }: { readonly text: string; readonly value: string }): string => {
  const read = new Reader(text).read();
  if (read !== value) throw new Asked('Word', 'two readers do not agree about a word');
  return read;
};
