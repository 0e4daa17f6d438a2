import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a question stands to its answer. */
export type QuestionKind = 'words' | 'phrase' | 'one word that is not there' | 'other case and accents';

export interface Question {
  readonly kind: QuestionKind;
  readonly query: string;
  /** Path of the one document that answers it. */
  readonly answer: string;
}

export interface Planted {
  readonly questions: readonly Question[];
  /** Of all documents. */
  readonly bytes: number;
}

/** The same numbers for the same seed (mulberry32). */
const numbers = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
};

const SYLLABLES =
  'ba be bi bo bu da de di do du fa fe fi fo ga ge go ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vi zé zo'.split(
    ' ',
  );
const WORDS = 20_000;
const LENGTH = 220;
const LURES = 12;
/** Of the commonest words a language is made; they tell nothing of a document. */
const MID = 400;

const vocabulary = (pick: (below: number) => number): string[] => {
  const words = new Set<string>();
  while (words.size < WORDS)
    words.add(Array.from({ length: 2 + pick(3) }, () => SYLLABLES[pick(SYLLABLES.length)]).join(''));
  return [...words];
};

const KINDS: readonly QuestionKind[] = ['words', 'phrase', 'one word that is not there', 'other case and accents'];

const withoutAccents = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '');

/**
 * Writes `count` documents of some 220 words below `folder`, the same ones each time. Every 20th is the answer to a
 * question: three words that stand together there alone, while twelve others hold two of the three.
 */
export const plantDocuments = (folder: string, count: number): Planted => {
  const pick = numbers(20_261_201);
  const words = vocabulary(pick);
  // Squared twice: few words are common and most are rare, as in a language.
  const common = () => words[Math.floor((pick(1_000_000) / 1_000_000) ** 4 * WORDS)] ?? '';
  const rare = () => words[MID + pick(WORDS - MID)] ?? '';
  const texts = Array.from({ length: count }, () => Array.from({ length: LENGTH }, common));
  const place = (document: number, sentence: readonly string[]) =>
    texts[document]?.splice(pick(LENGTH - 10), 0, ...sentence);
  const pathOf = (document: number) => `${String(document % 100).padStart(2, '0')}/note-${document}.md`;
  const questions = Array.from({ length: Math.floor(count / 20) }, (_, n): Question => {
    const document = n * 20;
    const kind = KINDS[n % KINDS.length] ?? 'words';
    const [a, b, c] = [rare(), rare(), rare()] as const;
    place(document, kind === 'phrase' ? [a, b, c] : [a, common(), b, common(), c]);
    for (let lure = 0; lure < LURES; lure += 1)
      place(
        pick(count),
        [
          [a, b],
          [b, c],
          [c, a],
        ][lure % 3] ?? [],
      );
    const query = {
      words: `${c} ${a} ${b}`,
      phrase: `"${a} ${b} ${c}"`,
      'one word that is not there': `${a} ${b} ${c} quixotic`,
      'other case and accents': withoutAccents(`${b} ${c} ${a}`).toUpperCase(),
    }[kind];
    return { kind, query, answer: pathOf(document) };
  });
  for (let part = 0; part < 100; part += 1) mkdirSync(join(folder, String(part).padStart(2, '0')), { recursive: true });
  let bytes = 0;
  for (const [document, text] of texts.entries()) {
    const sentences = text.join(' ').replace(/((?:\S+ ){11}\S+) /g, '$1.\n');
    const whole = `# Note ${document}\n\n${sentences}\n`;
    bytes += Buffer.byteLength(whole);
    writeFileSync(join(folder, pathOf(document)), whole);
  }
  return { questions, bytes };
};
