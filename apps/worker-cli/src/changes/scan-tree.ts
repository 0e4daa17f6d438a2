import { closeSync, constants, type Dirent, lstatSync, openSync, readdirSync, type Stats } from 'node:fs';
import { O_PATH } from '../workspace/open-root.ts';
import { isGitName, isTemporaryName } from '../workspace/reserved-names.ts';

/** One thing in a tree, by what tells a change of it. */
export interface Mark {
  readonly kind: 'file' | 'link' | 'other';
  readonly size: number;
  /** Inode, size, mode and times: equal stamps are taken for equal content. */
  readonly stamp: string;
  /** Milliseconds since the epoch of its latest change. */
  readonly changedAt: number;
  readonly stats: Pick<Stats, 'uid' | 'gid' | 'mode'>;
}

export interface TreeScan {
  /** Everything but directories and repositories, by path. */
  readonly marks: ReadonlyMap<string, Mark>;
  /** What lies in `.git` directories, by path. */
  readonly git: ReadonlyMap<string, Mark>;
  /** Bytes on the disk of all that was seen. */
  readonly bytes: number;
  /** Nothing was left out. */
  readonly complete: boolean;
}

/** Called for each file of the working tree with a path through the directory that was walked into. */
export type Visit = (path: string, mark: Mark, at: string) => void;

export interface ScanOptions {
  readonly entries: number;
  readonly visit?: Visit;
}

const MOST_DEPTH = 64;
/** Things after which others get their turn. */
const TURN = 500;
const BLOCK = 512;
/** Large, and seldom what somebody wants to hear of: looked at last, so that the bound cuts them off first. */
const LARGE = new Set(['node_modules', '.venv', 'venv', 'target', '__pycache__', '.cache', 'dist', 'build']);
const MOST_LATER = 64;

const OPEN = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

const markOf = (stats: Stats): Mark => ({
  kind: stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : 'other',
  size: stats.size,
  stamp: `${stats.ino}:${stats.size}:${stats.mode}:${stats.mtimeMs}:${stats.ctimeMs}`,
  changedAt: Math.max(stats.ctimeMs, stats.mtimeMs),
  stats: { uid: stats.uid, gid: stats.gid, mode: stats.mode },
});

interface Directory {
  readonly descriptor: number;
  readonly path: string;
  readonly depth: number;
  readonly inGit: boolean;
}

/**
 * One walk over a tree. It goes down through open descriptors and never through a link, so that a directory which is
 * exchanged meanwhile leads nowhere else.
 */
class Walk {
  readonly marks = new Map<string, Mark>();
  readonly git = new Map<string, Mark>();
  bytes = 0;
  complete = true;
  readonly #later: Directory[] = [];
  readonly #options: ScanOptions;
  #seen = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  async run(root: Directory): Promise<void> {
    await this.#directory(root, true);
    for (const directory of this.#later) {
      await this.#directory(directory, false);
      closeSync(directory.descriptor);
    }
  }

  close(): void {
    for (const { descriptor } of this.#later.splice(0)) {
      try {
        closeSync(descriptor);
      } catch {
        // Closed by the walk.
      }
    }
  }

  async #directory(directory: Directory, postpone: boolean): Promise<void> {
    const at = `/proc/self/fd/${directory.descriptor}`;
    for (const entry of this.#entries(at)) {
      if (this.#seen >= this.#options.entries) {
        this.complete = false;
        return;
      }
      this.#seen += 1;
      if (this.#seen % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      if (entry.isDirectory()) await this.#descend(directory, at, entry.name, postpone);
      else this.#take(directory, at, entry.name);
    }
  }

  #entries(at: string): Dirent[] {
    try {
      return readdirSync(at, { withFileTypes: true });
    } catch {
      this.complete = false;
      return [];
    }
  }

  async #descend({ path, depth, inGit }: Directory, at: string, name: string, postpone: boolean): Promise<void> {
    if (depth >= MOST_DEPTH) {
      this.complete = false;
      return;
    }
    let descriptor: number;
    try {
      descriptor = openSync(`${at}/${name}`, OPEN);
    } catch {
      this.complete = false;
      return;
    }
    const below = { descriptor, path: `${path}${name}/`, depth: depth + 1, inGit: inGit || isGitName(name) };
    if (postpone && (LARGE.has(name) || below.inGit) && this.#later.length < MOST_LATER) {
      this.#later.push(below);
      return;
    }
    await this.#directory(below, postpone);
    closeSync(descriptor);
  }

  #take({ path, inGit }: Directory, at: string, name: string): void {
    if (isTemporaryName(name)) return;
    const stats = lstatSync(`${at}/${name}`, { throwIfNoEntry: false });
    if (stats === undefined) {
      this.complete = false;
      return;
    }
    const mark = markOf(stats);
    this.bytes += stats.blocks * BLOCK;
    if (inGit || isGitName(name)) return void this.git.set(path + name, mark);
    this.marks.set(path + name, mark);
    this.#options.visit?.(path + name, mark, `${at}/${name}`);
  }
}

/** Everything below an open directory, up to a number of things. */
export const scanTree = async (root: number, options: ScanOptions): Promise<TreeScan> => {
  const walk = new Walk(options);
  try {
    await walk.run({ descriptor: root, path: '', depth: 0, inGit: false });
    return walk;
  } finally {
    walk.close();
  }
};
