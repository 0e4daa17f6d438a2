import type { Snapshot } from './manifest.ts';
import type { HashCache } from './scan-tree.ts';

/** What is remembered of one workspace; saves reads, decides nothing. */
export interface Remembered {
  readonly snapshot: Snapshot;
  readonly hashes: HashCache;
}

/** Entries that are remembered of all workspaces together. */
const MOST_ENTRIES = 250_000;

/** The lists of the workspaces that were used last, bounded by their entries. */
export class SnapshotMemory {
  readonly #known = new Map<string, Remembered>();
  #entries = 0;

  get(workspace: string): Remembered | undefined {
    return this.#known.get(workspace);
  }

  set(workspace: string, remembered: Remembered): void {
    this.forget(workspace);
    this.#known.set(workspace, remembered);
    this.#entries += remembered.snapshot.entries.size;
    for (const oldest of this.#known.keys()) {
      if (this.#entries <= MOST_ENTRIES || oldest === workspace) return;
      this.forget(oldest);
    }
  }

  forget(workspace: string): void {
    const known = this.#known.get(workspace);
    if (known === undefined) return;
    this.#known.delete(workspace);
    this.#entries -= known.snapshot.entries.size;
  }
}
