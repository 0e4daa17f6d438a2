import { findPhrase, type TermAt, termsOf } from '../query/terms.ts';

/** A part of a text: offsets count UTF-16 code units, `to` is the first one behind it. */
export interface Snippet {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Wanted {
  readonly words: readonly string[];
  readonly phrases: readonly (readonly string[])[];
}

/** Code units of one snippet. */
const MOST_LENGTH = 360;
const LEAD = 60;
/** Places that are looked at: a page that is full of the words is no better for it. */
const MOST_PLACES = 400;

interface Place {
  readonly at: TermAt;
  readonly value: number;
}

/** Terms that many texts hold say less: how often one stands here tells which those are. */
const weightsOf = (terms: readonly TermAt[], wanted: ReadonlySet<string>): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { term } of terms) if (wanted.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  return new Map([...counts].map(([term, count]) => [term, Math.log(1 + terms.length / count)]));
};

const placesOf = (terms: readonly TermAt[], { words, phrases }: Wanted): Place[] => {
  const wanted = new Set([...words, ...phrases.flat()]);
  const weights = weightsOf(terms, wanted);
  const inPhrase = new Set(phrases.filter(({ length }) => length > 1).flatMap((row) => findPhrase(terms, row)));
  const hits = terms.flatMap((at, index) => (weights.has(at.term) ? [{ at, index }] : [])).slice(0, MOST_PLACES);
  return hits.map(({ at, index }, first) => {
    const seen = new Set<string>();
    let value = inPhrase.has(index) ? 20 : 0;
    for (let next = first; next < hits.length; next += 1) {
      const hit = hits[next];
      if (hit === undefined || hit.at.to > at.from - LEAD + MOST_LENGTH) break;
      if (!seen.has(hit.at.term)) value += weights.get(hit.at.term) ?? 0;
      seen.add(hit.at.term);
    }
    return { at, value };
  });
};

const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** Begins with a word and ends behind one; breaks no character. */
const around = (text: string, { from: at, to }: TermAt): Snippet => {
  const earliest = Math.max(0, at - LEAD);
  const before = text.slice(earliest, at);
  const breakAt = before.lastIndexOf('\n\n');
  const start = breakAt >= 0 ? breakAt + 2 : earliest === 0 ? 0 : before.search(/(?<=\s)\S/);
  let from = start < 0 ? at : earliest + start;
  const latest = Math.min(text.length, from + MOST_LENGTH);
  const spaceAt = latest === text.length ? latest : text.slice(to, latest).search(/\s\S*$/) + to;
  let end = latest === text.length ? latest : spaceAt >= to ? spaceAt : latest;
  if (end < text.length && isLow(text, end)) end -= 1;
  if (isLow(text, from)) from += 1;
  const part = text.slice(from, end);
  from += part.length - part.trimStart().length;
  end -= part.length - part.trimEnd().length;
  return { from, to: Math.max(from, end), text: text.slice(from, Math.max(from, end)) };
};

const overlaps = (a: Snippet, b: Snippet): boolean => a.from < b.to && b.from < a.to;

/**
 * The parts of a text that hold most of what is wanted, in the order of the text; its beginning where it holds nothing of
 * it. They do not overlap. `text.slice(from, to)` is the text of each.
 */
export const pickSnippets = (text: string, wanted: Wanted, most: number): Snippet[] => {
  const places = placesOf(termsOf(text), wanted).sort((a, b) => b.value - a.value || a.at.from - b.at.from);
  const picked: Snippet[] = [];
  for (const { at } of places) {
    if (picked.length === most) break;
    const snippet = around(text, at);
    if (!picked.some((other) => overlaps(other, snippet))) picked.push(snippet);
  }
  if (picked.length === 0 && text.trim() !== '') {
    const first = text.search(/\S/);
    picked.push(around(text, { term: '', from: first, to: first }));
  }
  return picked.filter((snippet) => snippet.text !== '').sort((a, b) => a.from - b.from);
};
