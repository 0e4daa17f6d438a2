import { createHash, type Hash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import type { User } from '../../process/run-process.ts';
import { lost } from './lost.ts';
import type { BytePath, DirectoryEntry, FileEntry, LinkEntry } from './manifest.ts';
import { joinBytes } from './tree-walk.ts';

const CREATE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

const isThere = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'EEXIST';

/**
 * Makes the tree of a snapshot in a directory that nobody else can reach. Everything is created and nothing is opened
 * again: two entries that the file system takes for one end it as `workspace_lost`. Links come last, so that nothing
 * is ever written through one.
 */
export class TreeWriter {
  readonly #root: string;
  readonly #owner: User | undefined;

  constructor(root: string, owner: User | undefined) {
    this.#root = root;
    this.#owner = owner;
  }

  place(path: BytePath): Buffer {
    return joinBytes(this.#root, path);
  }

  directory({ path }: DirectoryEntry): void {
    this.#create(() => mkdirSync(this.place(path), { mode: 0o700 }));
  }

  file(entry: FileEntry): FileWriter {
    let fd = -1;
    this.#create(() => {
      fd = openSync(this.place(entry.path), CREATE, 0o600);
    });
    return new FileWriter(entry, fd, this.#owner);
  }

  /** Another file of the same content, out of one that is whole. */
  copy(from: FileEntry, entry: FileEntry): void {
    this.#create(() =>
      copyFileSync(this.place(from.path), this.place(entry.path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE),
    );
    const fd = openSync(this.place(entry.path), constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      dress(fd, entry, this.#owner);
    } finally {
      closeSync(fd);
    }
  }

  link({ path, target }: LinkEntry): void {
    const place = this.place(path);
    this.#create(() => symlinkSync(Buffer.from(target, 'latin1'), place));
    if (this.#owner) lchownSync(place, this.#owner.uid, this.#owner.gid);
  }

  /** The permissions of a directory, once nothing is to be made in it any more. */
  finish({ path, mode }: DirectoryEntry): void {
    const place = this.place(path);
    if (this.#owner) lchownSync(place, this.#owner.uid, this.#owner.gid);
    chmodSync(place, mode);
  }

  #create(make: () => void): void {
    try {
      make();
    } catch (thrown) {
      throw isThere(thrown) ? lost('this file system takes two of its names for one', thrown) : thrown;
    }
  }
}

/** A time in seconds as a double may fall short of its millisecond, and would be another one when it is read. */
const ROUNDED_MS = 0.01;

const dress = (fd: number, { mode, mtime }: FileEntry, owner: User | undefined): void => {
  if (owner) fchownSync(fd, owner.uid, owner.gid);
  fchmodSync(fd, mode);
  const seconds = (mtime + ROUNDED_MS) / 1000;
  futimesSync(fd, seconds, seconds);
};

/** One file, whose bytes come in pieces and are checked at the end. */
export class FileWriter {
  readonly #entry: FileEntry;
  readonly #fd: number;
  readonly #owner: User | undefined;
  readonly #hash: Hash = createHash('sha256');
  #left: number;
  #isOpen = true;

  constructor(entry: FileEntry, fd: number, owner: User | undefined) {
    this.#entry = entry;
    this.#fd = fd;
    this.#owner = owner;
    this.#left = entry.size;
  }

  get left(): number {
    return this.#left;
  }

  write(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#left -= bytes.byteLength;
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(this.#fd, bytes, at, bytes.byteLength - at);
  }

  /** Throws `workspace_lost` when these were not the bytes of the snapshot. */
  finish(): void {
    if (this.#left !== 0 || this.#hash.digest('hex') !== this.#entry.sha256) {
      throw lost('the bytes of a file are not those that were stored');
    }
    dress(this.#fd, this.#entry, this.#owner);
    this.close();
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }
}
