import { closeSync, constants, lstatSync, openSync, readdirSync } from 'node:fs';
import { hasDescriptorPaths, O_PATH } from '../open-root.ts';
import { type BytePath, parentOf } from './manifest.ts';

/** A path as bytes, out of the name of an open directory and a byte name. */
export const joinBytes = (directory: string, name: BytePath): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')]);

const OPEN_DIRECTORY =
  (hasDescriptorPaths ? O_PATH : constants.O_RDONLY) | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const nameOf = (path: BytePath): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * Directories beneath a root, each opened from the one above it, so that no link is ever followed. Only the chain of
 * directories down to the last one that was asked for is held open.
 */
export class OpenTree {
  readonly #root: string;
  readonly #chain: { readonly path: BytePath; readonly place: string; readonly fd: number | undefined }[] = [];

  /** `root` names the open root directory, by its descriptor where that is possible. */
  constructor(root: string) {
    this.#root = root;
  }

  /** What to put before a name in that directory. Throws where it is none, or a link. */
  directory(path: BytePath): string {
    if (path === '') return this.#root;
    while (this.#chain.length > 0 && !this.#leadsTo(path)) this.#leave();
    const last = this.#chain.at(-1);
    if (last?.path === path) return last.place;
    const above = this.directory(parentOf(path));
    const target = joinBytes(above, nameOf(path));
    const fd = openSync(target, OPEN_DIRECTORY);
    const place = hasDescriptorPaths ? `/proc/self/fd/${fd}` : target.toString();
    this.#chain.push({ path, place, fd });
    return place;
  }

  names(path: BytePath): string[] {
    return readdirSync(this.directory(path), { encoding: 'latin1' });
  }

  stat(path: BytePath) {
    return lstatSync(joinBytes(this.directory(parentOf(path)), nameOf(path)), { bigint: true });
  }

  /** Where the entry stands, to be used before anything else is asked for. */
  place(path: BytePath): Buffer {
    return joinBytes(this.directory(parentOf(path)), nameOf(path));
  }

  openFile(path: BytePath): number {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return openSync(this.place(path), flags);
  }

  close(): void {
    while (this.#chain.length > 0) this.#leave();
  }

  #leadsTo(path: BytePath): boolean {
    const last = this.#chain.at(-1)?.path ?? '';
    return path === last || path.startsWith(`${last}/`);
  }

  #leave(): void {
    const left = this.#chain.pop();
    if (left?.fd !== undefined) closeSync(left.fd);
  }
}
