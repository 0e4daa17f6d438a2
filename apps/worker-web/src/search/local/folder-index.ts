import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import MiniSearch from 'minisearch';
import { findPhrase, termsOf } from '../query/terms.ts';
import { documentText } from './document-text.ts';
import type { FolderLimits } from './folder-limits.ts';
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

export type LeftOutCounts = Partial<Record<LeftOut, number>>;

interface Entry {
  readonly id: number;
  readonly path: string;
  readonly title: string;
  readonly hash: string;
  readonly stamp: string;
  readonly size: number;
  readonly changed: number;
}

/** Files that are looked at for one that is wanted: a phrase is only seen in the file itself. */
const LOOKED_AT = 5;
const FILES_AT_ONCE = 25;

/** The index of one folder, kept in memory. It holds no text: what is found is read from the folder again. */
export class FolderIndex {
  readonly #root: string;
  readonly #limits: FolderLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #paths = new Map<number, string>();
  readonly #search = new MiniSearch({
    fields: ['title', 'path', 'text'],
    tokenize: (text) => termsOf(text).map(({ term }) => term),
    processTerm: (term) => term,
  });
  #nextId = 0;
  leftOut: LeftOutCounts = {};

  /** `root` is a real path. */
  constructor(root: string, limits: FolderLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  get files(): number {
    return this.#entries.size;
  }

  /** Bytes of all files that it knows. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Looks through the folder: what has another stamp is read, what has other content is taken in anew, what is gone is
   * forgotten. Lets others run every few files; `onProgress` is called each time. Resolves with the files taken in.
   */
  async refresh(onProgress: () => void = () => {}): Promise<number> {
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
        if (became === 'left') leave('not_text');
        else seen.add(file.path);
      }
      steps += 1;
      if (steps % FILES_AT_ONCE !== 0) continue;
      onProgress();
      await setImmediate();
    }
    for (const path of [...this.#entries.keys()]) if (!seen.has(path)) this.#forget(path);
    this.leftOut = leftOut;
    return taken;
  }

  /** The files that fit best, as they are now: one that is gone or has lost its phrase is no hit. */
  find({ count, ...query }: FolderQuery): FolderHit[] {
    const hits: FolderHit[] = [];
    for (const id of this.#candidates(query).slice(0, count * LOOKED_AT)) {
      if (hits.length === count) break;
      const entry = this.#entries.get(this.#paths.get(id) ?? '');
      if (entry !== undefined && this.#stillFits(entry, query)) hits.push(entry);
    }
    return hits.map(({ path, title, changed }) => ({ path, title, changed }));
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

  #look({ path, size, stamp }: FileSeen): 'same' | 'taken' | 'left' {
    const known = this.#entries.get(path);
    if (known?.stamp === stamp) return 'same';
    const file = readInside(this.#root, path, this.#limits.fileBytes);
    if (file === undefined) return 'left';
    const hash = createHash('sha256').update(file.bytes).digest('hex');
    if (known?.hash === hash) {
      this.#entries.set(path, { ...known, stamp, changed: file.changed });
      return 'same';
    }
    const document = documentText(path, file.bytes);
    if (document === undefined) return 'left';
    this.#forget(path);
    const id = this.#nextId;
    this.#nextId += 1;
    this.#search.add({ id, path, ...document });
    this.#paths.set(id, path);
    this.#entries.set(path, { id, path, title: document.title, hash, stamp, size, changed: file.changed });
    return 'taken';
  }

  #forget(path: string): void {
    const known = this.#entries.get(path);
    if (known === undefined) return;
    this.#search.discard(known.id);
    this.#paths.delete(known.id);
    this.#entries.delete(path);
  }
}
