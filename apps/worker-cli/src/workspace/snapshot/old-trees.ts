import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomId } from '@toolfabric/kernel';
import type { Layout } from '../layout.ts';

/**
 * Directories that were put out of the way, and who still reads in them: a reader keeps what it began to read until it
 * has ended.
 */
export class OldTrees {
  readonly #layout: Layout;
  readonly #readers = new Map<string, number>();
  readonly #waiting = new Map<string, string>();

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** `identity` is that of the root that is read. */
  enter(identity: string): void {
    this.#readers.set(identity, (this.#readers.get(identity) ?? 0) + 1);
  }

  async leave(identity: string): Promise<void> {
    const left = (this.#readers.get(identity) ?? 1) - 1;
    if (left > 0) {
      this.#readers.set(identity, left);
      return;
    }
    this.#readers.delete(identity);
    const tree = this.#waiting.get(identity);
    this.#waiting.delete(identity);
    if (tree !== undefined) await rm(tree, { recursive: true, force: true });
  }

  /** Takes the directory away from its place; it goes once nobody reads in it. */
  async discard(root: string, identity: string | undefined): Promise<void> {
    const aside = join(this.#layout.staging, `old-${randomId()}`);
    try {
      await rename(root, aside);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw thrown;
    }
    if (identity !== undefined && this.#readers.has(identity)) this.#waiting.set(identity, aside);
    else await rm(aside, { recursive: true, force: true });
  }
}
