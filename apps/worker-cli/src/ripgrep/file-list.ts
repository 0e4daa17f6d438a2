import { jsonBytes } from '../output/json-bytes.ts';

export interface FileListLimits {
  readonly entries: number;
  /** Bytes of JSON. */
  readonly bytes: number;
  /** Resolved path of the directory that is listed; empty for the root. */
  readonly below: string;
}

const MOST_DIRECTORIES = 50;

/** Keeps the first files that fit and counts all of them, by the directory that they lie in. */
export class FileList {
  readonly kept: string[] = [];
  total = 0;
  /** Names that are not valid UTF-8: shown with replacement characters, and not to be opened by them. */
  unprintable = 0;
  readonly #limits: FileListLimits;
  readonly #counts = new Map<string, number>();
  #bytes = 0;
  #full = false;

  constructor(limits: FileListLimits) {
    // The counts by directory need their share.
    this.#limits = { ...limits, bytes: limits.bytes - Math.min(Math.floor(limits.bytes / 4), 8_192) };
  }

  add(path: string, printable: boolean): void {
    this.total += 1;
    if (!printable) this.unprintable += 1;
    this.#count(path);
    if (this.#full) return;
    this.#bytes += jsonBytes(path) + 1;
    if (this.kept.length >= this.#limits.entries || this.#bytes > this.#limits.bytes) this.#full = true;
    else this.kept.push(path);
  }

  /** Directories one level down with the number of files below each, the largest first. */
  directories(): { path: string; files: number }[] {
    const sorted = [...this.#counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    let room = Math.min(Math.floor(this.#limits.bytes / 4), 7_000);
    return sorted.slice(0, MOST_DIRECTORIES).flatMap(([path, files]) => {
      room -= jsonBytes(path) + 24;
      return room < 0 ? [] : [{ path, files }];
    });
  }

  #count(path: string): void {
    const from = this.#limits.below === '' ? 0 : this.#limits.below.length + 1;
    const slash = path.indexOf('/', from);
    if (slash === -1) return;
    const directory = path.slice(0, slash);
    const known = this.#counts.get(directory);
    if (known === undefined && this.#counts.size >= 10_000) return;
    this.#counts.set(directory, (known ?? 0) + 1);
  }
}
