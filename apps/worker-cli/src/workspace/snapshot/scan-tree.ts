import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import { showPath } from '../path-parts.ts';
import { isTemporaryName } from '../reserved-names.ts';
import { Breath } from './breath.ts';
import { full } from './lost.ts';
import type { BytePath } from './manifest.ts';
import { MOST_DEPTH, MOST_LINK_BYTES, MOST_PATH_BYTES, type SnapshotLimits } from './snapshot-limits.ts';
import { OpenTree } from './tree-walk.ts';

/** One thing of a workspace as it stands on the disk. */
export type Found =
  | {
      readonly type: 'file';
      readonly path: BytePath;
      readonly mode: number;
      readonly mtime: number;
      readonly size: number;
      readonly sha256: string;
    }
  | { readonly type: 'directory'; readonly path: BytePath; readonly mode: number }
  | { readonly type: 'link'; readonly path: BytePath; readonly target: BytePath };

/** What a file looked like when it was hashed; the same look means the same content. */
interface Look {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly sha256: string;
}

/** The hashes of one workspace on this disk. */
export type HashCache = Map<BytePath, Look>;

/** Nanoseconds: a file that changed so shortly before it was looked at may change again and look the same. */
const RACY_NS = 100_000_000n;
const CHUNK_BYTES = 256 * 1024;

export const shown = (path: BytePath): string => showPath(Buffer.from(path, 'latin1').toString('utf8'));

const sort = (stats: BigIntStats): string => {
  if (stats.isSocket()) return 'a socket';
  if (stats.isFIFO()) return 'a pipe';
  return 'a device';
};

const special = (path: BytePath, stats: BigIntStats): FabricError =>
  new FabricError(
    'workspace_refused',
    `${shown(path)} is ${sort(stats)}: a workspace keeps files, directories, links`,
    {
      hint: 'Remove it; nothing of this call was kept.',
    },
  );

const modeOf = (stats: BigIntStats): number => Number(stats.mode & 0o777n);

class Scan {
  readonly #tree: OpenTree;
  readonly #limits: SnapshotLimits;
  readonly #breath: Breath;
  readonly #before: HashCache;
  readonly #racySince: bigint;
  readonly #buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  readonly cache: HashCache = new Map();
  readonly found = new Map<BytePath, Found>();
  #bytes = 0;

  constructor(tree: OpenTree, limits: SnapshotLimits, before: HashCache, signal: AbortSignal) {
    this.#tree = tree;
    this.#limits = limits;
    this.#before = before;
    this.#breath = new Breath(signal);
    this.#racySince = BigInt(Date.now()) * 1_000_000n - RACY_NS;
  }

  async directory(path: BytePath, depth: number): Promise<void> {
    if (depth > MOST_DEPTH) throw full(`it has more than ${MOST_DEPTH} directories inside each other`);
    const below: BytePath[] = [];
    for (const name of this.#tree.names(path)) {
      if (isTemporaryName(name)) continue;
      const child = path === '' ? name : `${path}/${name}`;
      if (await this.#entry(child)) below.push(child);
      if (this.#breath.isDue) await this.#breath.take();
    }
    for (const child of below) await this.directory(child, depth + 1);
  }

  /** True for a directory. */
  async #entry(path: BytePath): Promise<boolean> {
    if (path.length > MOST_PATH_BYTES) throw full('a path in it is too long');
    if (this.found.size >= this.#limits.entries) throw full(`it has more than ${this.#limits.entries} entries`);
    const stats = this.#tree.stat(path);
    if (stats.isDirectory()) {
      this.found.set(path, { type: 'directory', path, mode: modeOf(stats) });
      return true;
    }
    if (stats.isSymbolicLink()) this.found.set(path, { type: 'link', path, target: this.#target(path) });
    else if (stats.isFile()) await this.#file(path, stats);
    else throw special(path, stats);
    return false;
  }

  #target(path: BytePath): BytePath {
    const target = readlinkSync(this.#tree.place(path), { encoding: 'latin1' });
    if (target.length > MOST_LINK_BYTES) throw full('a link in it is too long');
    return target;
  }

  async #file(path: BytePath, stats: BigIntStats): Promise<void> {
    this.#bytes += Number(stats.size);
    if (this.#bytes > this.#limits.bytes) throw full(`it has more than ${this.#limits.bytes} bytes`);
    const look = this.#known(path, stats) ?? (await this.#hash(path));
    if (look.ctimeNs < this.#racySince) this.cache.set(path, look);
    const mtime = Number(look.mtimeNs / 1_000_000n);
    const { sha256 } = look;
    this.found.set(path, { type: 'file', path, mode: modeOf(stats), mtime, size: Number(look.size), sha256 });
  }

  #known(path: BytePath, { ino, size, mtimeNs, ctimeNs }: BigIntStats): Look | undefined {
    const look = this.#before.get(path);
    const isSame = look?.ino === ino && look.size === size && look.mtimeNs === mtimeNs && look.ctimeNs === ctimeNs;
    return isSame ? look : undefined;
  }

  /** The look is that of the open file, whose bytes are hashed. */
  async #hash(path: BytePath): Promise<Look> {
    const fd = this.#tree.openFile(path);
    try {
      const stats = fstatSync(fd, { bigint: true });
      if (!stats.isFile()) throw special(path, stats);
      const hash = createHash('sha256');
      let size = 0n;
      for (;;) {
        const read = readSync(fd, this.#buffer, 0, CHUNK_BYTES, null);
        if (read === 0) break;
        hash.update(this.#buffer.subarray(0, read));
        size += BigInt(read);
        if (this.#breath.isDue) await this.#breath.take();
      }
      const { ino, mtimeNs, ctimeNs } = stats;
      return { ino, size, mtimeNs, ctimeNs, sha256: hash.digest('hex') };
    } finally {
      closeSync(fd);
    }
  }
}

export interface ScannedTree {
  readonly found: ReadonlyMap<BytePath, Found>;
  readonly cache: HashCache;
}

/**
 * Everything beneath an open root: no link is followed, and what is neither file, directory nor link is refused. Only
 * files that look otherwise than in `before` are read. Throws `workspace_full` and `workspace_refused`.
 */
export const scanTree = async (
  root: string,
  limits: SnapshotLimits,
  before: HashCache,
  signal: AbortSignal,
): Promise<ScannedTree> => {
  const tree = new OpenTree(root);
  try {
    const scan = new Scan(tree, limits, before, signal);
    await scan.directory('', 1);
    return { found: scan.found, cache: scan.cache };
  } finally {
    tree.close();
  }
};

/** The bytes of one file, which must be those that were hashed. Throws `FileChanged`. */
export async function* readFound(tree: OpenTree, file: Extract<Found, { type: 'file' }>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const fd = openSync(tree.place(file.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new FileChanged(file.path);
    let left = file.size;
    while (left > 0) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
      const read = readSync(fd, chunk, 0, chunk.length, null);
      if (read === 0) throw new FileChanged(file.path);
      left -= read;
      hash.update(chunk.subarray(0, read));
      // The digest is told before the last bytes are given on: nobody takes a pack for whole that is not.
      if (left === 0 && hash.digest('hex') !== file.sha256) throw new FileChanged(file.path);
      yield chunk.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}

/** Somebody wrote in the workspace while it was stored: what was stored is no snapshot of any moment. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged';

  constructor(path: BytePath) {
    super(`${shown(path)} changed while it was stored`);
  }
}
