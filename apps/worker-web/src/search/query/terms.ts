/** One term of a text, and where it stands: offsets count UTF-16 code units. */
export interface TermAt {
  readonly term: string;
  readonly from: number;
  readonly to: number;
}

const RUN = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** Scripts that put no space between words: their terms are pairs of signs. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const MOST_LETTERS = 64;

const ASCII = /^[0-9A-Za-z]*$/;
/** Letters that have no other form than their case. */
const PLAIN = /^[0-9A-Za-z\u4e00-\u9fff]*$/;
/** One sign may stand for eighteen: a word is cut before they are written out, too. */
const MOST_SIGNS = 256;

/**
 * A word as it is compared: compatibility forms, case and accents are folded, so that `Ｓtraße`, `STRASSE` and `strasse`
 * are one, and `café` is `cafe`. The same for whatever language.
 */
export const foldWord = (word: string): string => {
  if (PLAIN.test(word)) return word.slice(0, MOST_LETTERS).toLowerCase();
  return word
    .slice(0, MOST_SIGNS)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ı', 'i')
    .replaceAll('ς', 'σ')
    .slice(0, MOST_LETTERS);
};

/** One by one: a run may be as long as a text. */
function* pairsOf(run: string, at: number): Generator<TermAt> {
  let [from, first] = [at, ''];
  for (const second of run) {
    if (first !== '') {
      yield { term: foldWord(first + second), from, to: from + first.length + second.length };
      from += first.length;
    }
    first = second;
  }
  if (first === run) yield { term: foldWord(run), from: at, to: at + run.length };
}

/** The terms of a text in their order. A text and a query are taken apart by this alone. */
export const termsOf = (text: string): TermAt[] => {
  const found: TermAt[] = [];
  for (const match of text.matchAll(RUN)) {
    const [run] = match;
    if (!ASCII.test(run) && UNSPACED.test(run)) for (const pair of pairsOf(run, match.index)) found.push(pair);
    else found.push({ term: foldWord(run), from: match.index, to: match.index + run.length });
  }
  return found.filter(({ term }) => term !== '');
};

/** Where `words` follow one upon the other among `terms`: the index of the first of them, for each time. */
export const findPhrase = (terms: readonly TermAt[], words: readonly string[]): number[] => {
  const [first] = words;
  if (first === undefined) return [];
  return terms.flatMap(({ term }, at) =>
    term === first && words.every((word, offset) => terms[at + offset]?.term === word) ? [at] : [],
  );
};
