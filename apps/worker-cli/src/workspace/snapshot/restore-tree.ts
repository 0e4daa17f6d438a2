import { rmSync } from 'node:fs';
import type { ArtifactSession } from '@toolfabric/ports';
import { StoreUnavailable } from '@toolfabric/ports';
import type { User } from '../../process/run-process.ts';
import { Breath } from './breath.ts';
import { unreadable } from './load-snapshot.ts';
import { lost } from './lost.ts';
import type { DirectoryEntry, Entry, FileEntry, Snapshot } from './manifest.ts';
import { type Fetch, planFetches, type WantedContent } from './plan-fetch.ts';
import { type Found, readFound } from './scan-tree.ts';
import { OpenTree } from './tree-walk.ts';
import { type FileWriter, TreeWriter } from './write-tree.ts';

export interface RestoreRequest {
  readonly session: ArtifactSession;
  readonly snapshot: Snapshot;
  /** An empty directory that nobody but the worker can enter. */
  readonly target: string;
  /** Whose files they become; those of the worker when left out. */
  readonly owner: User | undefined;
  /** Names the root of an older copy on this disk, whose files save a transfer where they have the same content. */
  readonly older: string | undefined;
  readonly signal: AbortSignal;
  /** Called after each file. */
  readonly onFile: () => void;
}

const isFile = (entry: Entry): entry is FileEntry => entry.type === 'file';
const isDirectory = (entry: Entry): entry is DirectoryEntry => entry.type === 'directory';
const depthOf = ({ path }: Entry): number => path.split('/').length;

/** A file of the older copy, looked at and hashed on its way. False when it is another one. */
const takeOver = (older: OpenTree, writer: TreeWriter, entry: FileEntry): Promise<boolean> => {
  const looksRight = (): boolean => {
    try {
      const stats = older.stat(entry.path);
      return stats.isFile() && Number(stats.size) === entry.size;
    } catch {
      return false;
    }
  };
  return looksRight() ? copyChecked(older, writer, entry) : Promise.resolve(false);
};

const copyChecked = async (older: OpenTree, writer: TreeWriter, entry: FileEntry): Promise<boolean> => {
  const file = writer.file(entry);
  try {
    for await (const bytes of readFound(older, entry as Extract<Found, { type: 'file' }>)) file.write(bytes);
    file.finish();
    return true;
  } catch {
    file.close();
    rmSync(writer.place(entry.path) as unknown as string, { force: true });
    return false;
  }
};

const fromOlder = async (request: RestoreRequest, writer: TreeWriter, files: readonly FileEntry[]) => {
  if (request.older === undefined) return files;
  const older = new OpenTree(request.older);
  const breath = new Breath(request.signal);
  const missing: FileEntry[] = [];
  try {
    for (const entry of files) {
      if (await takeOver(older, writer, entry)) request.onFile();
      else missing.push(entry);
      if (breath.isDue) await breath.take();
    }
  } finally {
    older.close();
  }
  return missing;
};

/** Fills the files of one request from the stream of its bytes. */
class Filling {
  readonly #request: RestoreRequest;
  readonly #writer: TreeWriter;
  readonly #contents: readonly WantedContent[];
  #at: number;
  #next = 0;
  #open: FileWriter | undefined;

  constructor(request: RestoreRequest, writer: TreeWriter, { contents }: Fetch) {
    this.#request = request;
    this.#writer = writer;
    this.#contents = contents;
    this.#at = contents[0]?.offset ?? 0;
  }

  /** Begins what needs no byte (an empty file), and ends what has its last one. */
  advance(): void {
    for (;;) {
      const content = this.#contents[this.#next];
      if (content === undefined || (this.#open === undefined && content.offset !== this.#at)) return;
      const [first, ...others] = content.files as [FileEntry, ...FileEntry[]];
      this.#open ??= this.#writer.file(first);
      if (this.#open.left > 0) return;
      this.#open.finish();
      this.#open = undefined;
      this.#request.onFile();
      for (const other of others) {
        this.#writer.copy(first, other);
        this.#request.onFile();
      }
      this.#next += 1;
    }
  }

  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.byteLength; ) {
      this.advance();
      const content = this.#contents[this.#next];
      if (content === undefined) return;
      const left = this.#open === undefined ? content.offset - this.#at : this.#open.left;
      const size = Math.min(left, bytes.byteLength - from);
      this.#open?.write(bytes.subarray(from, from + size));
      this.#at += size;
      from += size;
    }
    this.advance();
  }

  end(): void {
    if (this.#next < this.#contents.length) throw lost('a pack of it is shorter than it was');
  }

  /** Takes away what is only half there, so that it may be tried again from here. */
  abandon(): readonly WantedContent[] {
    this.#open?.close();
    const left = this.#contents.slice(this.#next);
    const half = left[0]?.files[0];
    if (this.#open && half) rmSync(this.#writer.place(half.path) as unknown as string, { force: true });
    return left;
  }
}

/** Times that a transfer which breaks off is begun again where it stood. */
const MOST_TRIES = 4;
const PAUSE_MS = 300;

const fetchOnce = async (request: RestoreRequest, { pack, contents }: Fetch, filling: Filling): Promise<void> => {
  const from = pack.start + (contents[0]?.offset ?? 0);
  const last = contents.at(-1);
  const to = pack.start + (last === undefined ? 0 : last.offset + last.size);
  filling.advance();
  if (to > from) {
    for await (const bytes of request.session.read(pack.id, { from, to }, request.signal)) filling.push(bytes);
  }
  filling.end();
};

const fetchAll = async (request: RestoreRequest, writer: TreeWriter, fetch: Fetch): Promise<void> => {
  let left = fetch.contents;
  for (let tries = 1; left.length > 0; tries += 1) {
    const filling = new Filling(request, writer, { pack: fetch.pack, contents: left });
    try {
      await fetchOnce(request, { pack: fetch.pack, contents: left }, filling);
      return;
    } catch (thrown) {
      left = filling.abandon();
      if (!(thrown instanceof StoreUnavailable) || tries >= MOST_TRIES) throw unreadable(thrown);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
    }
  }
};

/**
 * Makes the tree of a snapshot in `target`, every byte of it checked. The list was checked before (`checkEntries`).
 * Throws `workspace_lost` when it cannot be had any more, and `StoreUnavailable` when it cannot be had now.
 */
export const restoreTree = async (request: RestoreRequest): Promise<void> => {
  const { snapshot, target, owner, signal } = request;
  const writer = new TreeWriter(target, owner);
  const breath = new Breath(signal);
  const entries = [...snapshot.entries.values()];
  const directories = entries.filter(isDirectory).sort((a, b) => depthOf(a) - depthOf(b));
  for (const directory of directories) {
    writer.directory(directory);
    if (breath.isDue) await breath.take();
  }
  const missing = await fromOlder(request, writer, entries.filter(isFile));
  for (const fetch of planFetches(snapshot, missing)) await fetchAll(request, writer, fetch);
  for (const entry of entries) {
    if (entry.type === 'link') writer.link(entry);
    if (breath.isDue) await breath.take();
  }
  for (const directory of directories.toReversed()) writer.finish(directory);
};
