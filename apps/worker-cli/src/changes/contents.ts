import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { sha256Hex } from '@toolfabric/kernel';
import type { Mark } from './scan-tree.ts';

export interface Content {
  readonly stamp: string;
  readonly sha256: string;
  readonly bytes: Buffer;
  /** It changed so shortly before it was read that a later change may have left the same stamp. */
  readonly young: boolean;
}

/** Bytes of a file that is kept for a diff. */
export const MOST_FILE_BYTES = 256 * 1024;
/** Milliseconds in which the clock of a file system may stand still. */
const TICK_MS = 50;

/** The file at that place, when it still is the one of the mark and not too large; undefined otherwise. */
export const readContent = (at: string, mark: Mark): Content | undefined => {
  if (mark.kind !== 'file' || mark.size > MOST_FILE_BYTES) return undefined;
  let descriptor: number;
  try {
    descriptor = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!fstatSync(descriptor).isFile()) return undefined;
    const buffer = Buffer.alloc(mark.size + 1);
    const length = readSync(descriptor, buffer, 0, buffer.length, 0);
    if (length !== mark.size) return undefined;
    const bytes = buffer.subarray(0, length);
    return { stamp: mark.stamp, sha256: sha256Hex(bytes), bytes, young: Date.now() - mark.changedAt < TICK_MS };
  } finally {
    closeSync(descriptor);
  }
};

/** Contents of one workspace, bounded in bytes; what is known from an earlier call is not read again. */
export class Contents {
  readonly #known = new Map<string, Content>();
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(path: string): Content | undefined {
    return this.#known.get(path);
  }

  /** The content that belongs to the mark, read when it is not known; undefined when there is no room for it. */
  take(path: string, mark: Mark, at: string): void {
    const known = this.#known.get(path);
    if (known?.stamp === mark.stamp && !known.young) return;
    this.forget(path);
    if (this.#bytes + mark.size > this.#most) return;
    const content = readContent(at, mark);
    if (content === undefined) return;
    this.#known.set(path, content);
    this.#bytes += content.bytes.length;
  }

  forget(path: string): void {
    const known = this.#known.get(path);
    if (known === undefined) return;
    this.#bytes -= known.bytes.length;
    this.#known.delete(path);
  }

  /** Forgets what is not there any more. */
  keepOnly(paths: { has(path: string): boolean }): void {
    for (const path of [...this.#known.keys()]) if (!paths.has(path)) this.forget(path);
  }
}

/** The contents of the workspaces that were used last. */
export class RecentContents {
  readonly #workspaces = new Map<string, Contents>();
  readonly #most: number;
  readonly #bytes: number;

  constructor(most: number, bytes: number) {
    this.#most = most;
    this.#bytes = bytes;
  }

  of(id: string): Contents {
    const contents = this.#workspaces.get(id) ?? new Contents(this.#bytes);
    this.#workspaces.delete(id);
    this.#workspaces.set(id, contents);
    const [oldest] = this.#workspaces.keys();
    if (this.#workspaces.size > this.#most && oldest !== undefined) this.#workspaces.delete(oldest);
    return contents;
  }
}
