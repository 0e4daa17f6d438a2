import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import MiniSearch from 'minisearch';
import { findPhrase, termsOf } from '../query/terms.ts';
import { documentText } from './document-text.ts';
import type { FolderLimits } from './folder-limits.ts';
import { IndexCost } from './index-cost.ts';
import { readInside } from './read-inside.ts';
import { type FileSeen, type LeftOut, walkFolder } from './walk-folder.ts';

/** Folded terms of a query; days as milliseconds since the epoch, both ends included. */
export interface FolderQuery {
  readonly words: readonly string[];
  readonly phrases: readonly (readonly string[])[];
  readonly without: readonly (readonly string[])[];
  readonly after?: number;
  readonly before?: number;
  /** Files that are wanted. */
  readonly count: number;
}

export interface FolderHit {
  readonly path: string;
  readonly title: string;
  readonly changed: number;
}

export type LeftOutCounts = Partial<Record<LeftOut | 'not_looked_at', number>>;

export interface FolderAnswer {
  readonly hits: readonly FolderHit[];
  /** Files that may fit, for which there was no time. */
  readonly notLookedAt: number;
}

interface Entry {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly hash: string;
  readonly stamp: string;
  readonly size: number;
  readonly changed: number;
  /** Bytes of memory, as they were estimated. */
  readonly cost: number;
}

/** Why a file was not taken in: as long as it stays as it is, it is not read again for that. */
interface Passed {
  readonly stamp: string;
  readonly why: LeftOut;
  readonly cost: number;
}

/** Files that are looked at for one that is wanted: a phrase is only seen in the file itself. */
const LOOKED_AT = 5;
/** Small files that are read before others may run; a large one counts for several. */
const STEPS_AT_ONCE = 25;
const STEP_BYTES = 64 * 1024;

/** Takes texts whose terms stand in their order, with a space between them. */
const openSearch = () =>
  new MiniSearch({
    fields: ['title', 'path', 'text'],
    tokenize: (terms) => (terms === '' ? [] : terms.split(' ')),
    processTerm: (term) => term,
  });

const foldedText = (text: string): string[] => termsOf(text).map(({ term }) => term);

/** The index of one folder, kept in memory. It holds no text: what is found is read from the folder again. */
export class FolderIndex {
  readonly #root: string;
  readonly #limits: FolderLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #paths = new Map<number, string>();
  readonly #passed = new Map<string, Passed>();
  readonly #now: () => number;
  #search = openSearch();
  #cost = new IndexCost();
  #nextId = 0;
  leftOut: LeftOutCounts = {};

  /** `root` is a real path; `now` gives milliseconds on a clock that never goes back. */
  constructor(root: string, limits: FolderLimits, now: () => number = () => performance.now()) {
    this.#root = root;
    this.#limits = limits;
    this.#now = now;
  }

  get files(): number {
    return this.#entries.size;
  }

  /** Bytes of memory that it takes, as they are estimated. */
  get bytes(): number {
    return this.#cost.bytes;
  }

  /**
   * Looks through the folder: what has another stamp is read, what has other content is taken in anew, what is gone is
   * forgotten. Lets others run every few files; `onProgress` is called each time. Resolves with the files taken in.
   */
  async refresh(onProgress: () => void = () => {}): Promise<number> {
    if (this.#cost.isStale) this.#begin();
    const leftOut: LeftOutCounts = {};
    const leave = (why: LeftOut) => {
      leftOut[why] = (leftOut[why] ?? 0) + 1;
    };
    const seen = new Set<string>();
    let [taken, steps] = [0, 0];
    for (const file of walkFolder(this.#root, this.#limits, leave)) {
      if (file !== undefined) {
        const became = this.#look(file);
        if (became === 'taken') taken += 1;
        else if (became !== 'same') leave(became);
        seen.add(file.path);
      }
      steps += 1 + (file?.size ?? 0) / STEP_BYTES;
      if (steps < STEPS_AT_ONCE) continue;
      steps = 0;
      onProgress();
      await setImmediate();
    }
    for (const path of [...this.#entries.keys()]) if (!seen.has(path)) this.#forget(path);
    for (const path of [...this.#passed.keys()]) if (!seen.has(path)) this.#passed.delete(path);
    this.leftOut = leftOut;
    return taken;
  }

  /**
   * The files that fit best, as they are now: one that is gone or has lost its phrase is no hit. Lets others run after
   * each file that it looked at, and ends after `lookMs` with what was found until then.
   */
  async find({ count, ...query }: FolderQuery, onProgress: () => void = () => {}): Promise<FolderAnswer> {
    const hits: FolderHit[] = [];
    const candidates = this.#candidates(query).slice(0, count * LOOKED_AT);
    const until = this.#now() + this.#limits.lookMs;
    for (const [at, id] of candidates.entries()) {
      if (hits.length === count) break;
      if (this.#now() > until) return { hits, notLookedAt: candidates.length - at };
      onProgress();
      await setImmediate();
      const entry = this.#entries.get(this.#paths.get(id) ?? '');
      if (entry === undefined || !this.#stillFits(entry, query)) continue;
      const { path, title, changed } = entry;
      hits.push({ path, title, changed });
    }
    return { hits, notLookedAt: 0 };
  }

  #candidates({ words, phrases, without, after, before }: Omit<FolderQuery, 'count'>): number[] {
    const required = [...new Set(phrases.flat())];
    const unwanted = without.filter((terms) => terms.length === 1).flat();
    const wanted = { combineWith: 'OR' as const, queries: [...new Set([...words, ...required])] };
    const query = unwanted.length === 0 ? wanted : { combineWith: 'AND_NOT' as const, queries: [wanted, ...unwanted] };
    const found = this.#search.search(query, {
      boost: { title: 3, path: 1.5 },
      filter: ({ id, queryTerms }) => {
        const changed = this.#entries.get(this.#paths.get(id) ?? '')?.changed ?? 0;
        const isInTime = changed >= (after ?? 0) && changed <= (before ?? Number.POSITIVE_INFINITY);
        return isInTime && required.every((term) => queryTerms.includes(term));
      },
    });
    return found.map(({ id }) => id);
  }

  #stillFits({ path }: Entry, { phrases, without }: Pick<FolderQuery, 'phrases' | 'without'>): boolean {
    const file = readInside(this.#root, path, this.#limits.fileBytes);
    const rows = [...phrases, ...without].filter((terms) => terms.length > 1);
    if (file === undefined || rows.length === 0) return file !== undefined;
    const document = documentText(path, file.bytes);
    if (document === undefined) return false;
    const terms = termsOf(`${document.title}\n${document.text}`);
    const holds = (row: readonly string[]) => findPhrase(terms, row).length > 0;
    return phrases.every(holds) && !without.some((row) => row.length > 1 && holds(row));
  }

  #look({ path, size, stamp }: FileSeen): 'same' | 'taken' | LeftOut {
    const known = this.#entries.get(path);
    if (known?.stamp === stamp) return 'same';
    const passed = this.#passed.get(path);
    const isAsBefore = passed?.stamp === stamp && passed.cost > this.#limits.indexBytes - this.#cost.bytes;
    if (isAsBefore) return passed.why;
    const file = readInside(this.#root, path, this.#limits.fileBytes);
    if (file === undefined) return this.#pass(path, { stamp, why: 'unreadable', cost: 0 });
    const hash = createHash('sha256').update(file.bytes).digest('hex');
    if (known?.hash === hash) {
      this.#entries.set(path, { ...known, stamp, changed: file.changed });
      return 'same';
    }
    const document = documentText(path, file.bytes);
    if (document === undefined) return this.#pass(path, { stamp, why: 'not_text', cost: Number.POSITIVE_INFINITY });
    return this.#takeIn({ path, title: document.title, hash, stamp, size, changed: file.changed }, document.text);
  }

  #takeIn(entry: Omit<Entry, 'id' | 'cost'>, text: string): 'taken' | LeftOut {
    const { path, stamp } = entry;
    this.#forget(path);
    const rows = [entry.title, path, text].map(foldedText);
    const terms = new Set(rows.flat());
    const cost = this.#cost.of(terms);
    if (this.#cost.bytes + cost > this.#limits.indexBytes) return this.#pass(path, { stamp, why: 'too_many', cost });
    const id = this.#nextId;
    this.#nextId += 1;
    const [title, below, whole] = rows.map((row) => row.join(' '));
    this.#search.add({ id, title, path: below, text: whole });
    this.#passed.delete(path);
    this.#paths.set(id, path);
    this.#entries.set(path, { ...entry, id, cost: this.#cost.add(terms) });
    return 'taken';
  }

  #pass(path: string, passed: Passed): LeftOut {
    this.#forget(path);
    this.#passed.set(path, passed);
    return passed.why;
  }

  #begin(): void {
    this.#search = openSearch();
    this.#cost = new IndexCost();
    for (const kept of [this.#entries, this.#paths, this.#passed]) kept.clear();
  }

  #forget(path: string): void {
    const known = this.#entries.get(path);
    if (known === undefined) return;
    this.#search.discard(known.id);
    this.#cost.takeAway(known.cost);
    this.#paths.delete(known.id);
    this.#entries.delete(path);
  }
}
