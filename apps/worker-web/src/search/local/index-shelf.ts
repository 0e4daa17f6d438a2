import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Token } from '@toolfabric/contract';
import { FolderIndex } from './folder-index.ts';
import type { FolderLimits } from './folder-limits.ts';

interface Kept {
  readonly root: string;
  readonly index: FolderIndex;
  /** Milliseconds on a clock that never goes back. */
  lookedAt: number;
  looking: Promise<unknown> | undefined;
}

/** The real path of a tenant's folder; undefined where there is none. A link is none: it could lead to another tenant. */
export const tenantFolder = (folder: string, tenant: string): string | undefined => {
  if (!Token.safeParse(tenant).success) return undefined;
  try {
    const root = join(realpathSync(folder), tenant);
    return lstatSync(root).isDirectory() ? root : undefined;
  } catch {
    return undefined;
  }
};

/** The indexes of the tenants that were asked last, one for each and nothing shared between them. */
export class IndexShelf {
  readonly #kept = new Map<string, Kept>();
  readonly #folder: string;
  readonly #limits: FolderLimits;
  readonly #now: () => number;

  constructor(folder: string, limits: FolderLimits, now: () => number) {
    this.#folder = folder;
    this.#limits = limits;
    this.#now = now;
  }

  get tenants(): number {
    return this.#kept.size;
  }

  /** The index of a tenant as fresh as `freshMs` says; undefined for a tenant without a folder. */
  async open(tenant: string, onProgress: () => void): Promise<FolderIndex | undefined> {
    const root = tenantFolder(this.#folder, tenant);
    if (root === undefined) {
      this.#kept.delete(tenant);
      return undefined;
    }
    const kept = this.#take(tenant, root);
    if (kept.looking === undefined && this.#now() - kept.lookedAt < this.#limits.freshMs) return kept.index;
    kept.looking ??= kept.index.refresh(onProgress).finally(() => {
      kept.looking = undefined;
      kept.lookedAt = this.#now();
    });
    await kept.looking;
    this.#trim(tenant);
    return kept.index;
  }

  /** Moves it to the end, so that the first is the one to go. */
  #take(tenant: string, root: string): Kept {
    const known = this.#kept.get(tenant);
    const kept =
      known?.root === root
        ? known
        : {
            root,
            index: new FolderIndex(root, this.#limits, this.#now),
            lookedAt: Number.NEGATIVE_INFINITY,
            looking: undefined,
          };
    this.#kept.delete(tenant);
    this.#kept.set(tenant, kept);
    return kept;
  }

  #trim(asked: string): void {
    const bytes = () => [...this.#kept.values()].reduce((sum, { index }) => sum + index.bytes, 0);
    const { keptTenants, keptBytes } = this.#limits;
    for (const [tenant, { looking }] of [...this.#kept]) {
      if (this.#kept.size <= keptTenants && bytes() <= keptBytes) return;
      if (tenant !== asked && looking === undefined) this.#kept.delete(tenant);
    }
  }
}
