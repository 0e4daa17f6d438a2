import { closeSync, constants, lstatSync, openSync, readdirSync } from 'node:fs';
import { O_PATH } from '../workspace/open-root.ts';

const OPEN = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Things after which others get their turn. */
const TURN = 500;
const BLOCK = 512;
/** Each level takes a descriptor; no tree that somebody works in is deeper. */
const MOST_DEPTH = 200;
const MOST_ENTRIES = 2_000_000;

const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work();
  } catch {
    return undefined;
  }
};

class Measure {
  bytes = 0;
  #seen = 0;

  async directory(descriptor: number, depth: number): Promise<void> {
    const at = Buffer.from(`/proc/self/fd/${descriptor}/`);
    for (const entry of attempt(() => readdirSync(at, { withFileTypes: true, encoding: 'buffer' })) ?? []) {
      this.#seen += 1;
      if (this.#seen > MOST_ENTRIES) this.bytes = Number.POSITIVE_INFINITY;
      if (this.bytes === Number.POSITIVE_INFINITY) return;
      if (this.#seen % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      const place = Buffer.concat([at, entry.name]);
      if (entry.isDirectory()) await this.#descend(place, depth);
      else this.bytes += (attempt(() => lstatSync(place).blocks) ?? 0) * BLOCK;
    }
  }

  async #descend(place: Buffer, depth: number): Promise<void> {
    if (depth >= MOST_DEPTH) {
      this.bytes = Number.POSITIVE_INFINITY;
      return;
    }
    const descriptor = attempt(() => openSync(place, OPEN));
    if (descriptor === undefined) return;
    try {
      await this.directory(descriptor, depth + 1);
    } finally {
      closeSync(descriptor);
    }
  }
}

/**
 * Bytes on the disk below an open directory, whatever the names are and however many there are: for trees of which a
 * scan leaves something out. Infinity for one that is too deep or too large to be counted.
 */
export const measureTree = async (root: number): Promise<number> => {
  const measure = new Measure();
  await measure.directory(root, 0);
  return measure.bytes;
};
