import { lstatSync, readdirSync } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import { descriptorPath, type OpenRoot } from '../workspace/open-root.ts';
import { showPath } from '../workspace/path-parts.ts';
import type { StandingPlaces } from './writable-binds.ts';

/** Things below the writable places that are looked at. */
export const MOST_LOOKED_AT = 100_000;
/** Things after which others get their turn. */
const TURN = 500;

interface Shared {
  readonly path: string;
  readonly links: number;
  names: number;
}

const refused = (why: string): FabricError => new FabricError('constraint_violated', why);

/** Files with more than one name, by what they are. */
class Names {
  readonly #shared = new Map<string, Shared>();
  readonly #base: string;
  readonly #most: number;
  #seen = 0;

  constructor(base: string, most: number) {
    this.#base = base;
    this.#most = most;
  }

  take(path: string): void {
    const { dev, ino, nlink } = lstatSync(`${this.#base}/${path}`);
    if (nlink < 2) return;
    const key = `${dev}:${ino}`;
    const known = this.#shared.get(key) ?? { path, links: nlink, names: 0 };
    known.names += 1;
    this.#shared.set(key, known);
  }

  async walk(top: string): Promise<void> {
    const open = [top];
    for (let path = open.pop(); path !== undefined; path = open.pop())
      for (const entry of readdirSync(`${this.#base}/${path}`, { withFileTypes: true })) {
        this.#seen += 1;
        if (this.#seen > this.#most)
          throw refused(`more than ${this.#most} files lie where this task may write; they cannot all be looked at`);
        if (this.#seen % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
        if (entry.isDirectory()) open.push(`${path}/${entry.name}`);
        else this.take(`${path}/${entry.name}`);
      }
  }

  /** A file that has a name elsewhere too. */
  elsewhere(): Shared | undefined {
    return [...this.#shared.values()].find(({ links, names }) => names < links);
  }
}

/**
 * A file below a writable place may have a second name outside of all of them, by a hard link, and would be written
 * there too (PO-9). Throws `constraint_violated` for it, and where not everything can be looked at.
 */
export const refuseSharedFiles = async (
  root: OpenRoot,
  { directories, files, missing }: StandingPlaces,
  most = MOST_LOOKED_AT,
): Promise<void> => {
  if (directories.includes('')) return;
  const names = new Names(descriptorPath(root.handle), most);
  try {
    for (const directory of directories) if (!missing.includes(directory)) await names.walk(directory);
    for (const file of files) names.take(file);
  } catch (thrown) {
    if (thrown instanceof FabricError) throw thrown;
    throw refused('not everything can be looked at that lies where this task may write');
  }
  const shared = names.elsewhere();
  if (shared !== undefined)
    throw refused(`${showPath(shared.path)} has another name, by a hard link, where this task may not write`);
};
