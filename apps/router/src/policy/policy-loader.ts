import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolContract } from '@toolfabric/contract';
import { digestOf, type Logger } from '@toolfabric/kernel';
import {
  checkPolicies,
  NO_FILES,
  type PolicyFolder,
  type PolicyProblem,
  type PolicySource,
  readPolicyFolder,
} from '@toolfabric/policy-cedar';

/** A set of policies that may be enforced. */
export interface LoadedSource {
  readonly source: PolicySource;
  /** Tenants whose files cannot be used: nothing is allowed for them. */
  readonly broken: ReadonlySet<string>;
}

export interface LoadedPolicies {
  readonly active: LoadedSource;
  readonly shadow?: LoadedSource;
  readonly problems: readonly PolicyProblem[];
}

/** Names, sizes and times of everything in the folder, so that an unchanged one is not read again. */
export const fingerprintOf = (folder: string): string => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const states = names.map((name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    return stat === undefined ? name : [name, stat.size, stat.mtimeMs, stat.ino].join(' ');
  });
  return digestOf(states);
};

/**
 * What of `next` may be used. A tenant whose files do not pass keeps those that did before; without such, all its
 * calls are denied. Throws when what holds for everybody does not pass.
 */
const usable = (
  next: PolicySource,
  contracts: readonly ToolContract[],
  before: LoadedSource | undefined,
): LoadedSource & { readonly problems: readonly PolicyProblem[] } => {
  const found = checkPolicies(next, contracts);
  const wrong = found.filter(({ isWarning }) => isWarning !== true);
  const common = wrong.find(({ path }) => path === next.defaults?.path);
  if (common !== undefined) throw new Error(`${common.path}:${common.line}: ${common.message}`);
  const tenants = new Map(next.tenants);
  const broken = new Set<string>();
  for (const [tenant, { files }] of next.tenants) {
    if (!wrong.some(({ path }) => files.some((file) => file.path === path))) continue;
    const kept = before?.broken.has(tenant) ? undefined : before?.source.tenants.get(tenant);
    if (kept === undefined) broken.add(tenant);
    tenants.set(tenant, kept ?? { files: [], settings: { show_denied: false } });
  }
  return { source: { ...next, tenants }, broken, problems: found };
};

export interface PolicyLoaderOptions {
  /** Without it only what comes with the fabric holds. */
  readonly folder: string | undefined;
  /** Whatever was published, in every version. */
  readonly contracts: () => readonly ToolContract[];
  readonly log: Logger;
}

/** Reads the folder of policies, and again when it changed. */
export class PolicyLoader {
  readonly #options: PolicyLoaderOptions;
  #fingerprint = '';
  /** As it was at the last look. */
  #seen = '';
  #last: LoadedPolicies | undefined;

  constructor(options: PolicyLoaderOptions) {
    this.#options = options;
  }

  /** Throws when there is no folder, or when what holds for everybody cannot be used. */
  load(): LoadedPolicies {
    const { folder, contracts } = this.#options;
    if (folder !== undefined) this.#fingerprint = fingerprintOf(folder);
    const read: PolicyFolder = folder === undefined ? NO_FILES : readPolicyFolder(folder);
    const published = contracts();
    const { problems, ...active } = usable(read.active, published, this.#last?.active);
    const tried = read.shadow === undefined ? undefined : usable(read.shadow, published, this.#last?.shadow);
    this.#last = {
      active,
      ...(tried === undefined ? {} : { shadow: { source: tried.source, broken: tried.broken } }),
      problems: [...problems, ...(tried?.problems ?? [])],
    };
    return this.#last;
  }

  /**
   * What there is to use since the last look; undefined when nothing changed, or when what came cannot be used. Files that
   * are not as they were at the last look are still being written: half of them may forbid less than all of them.
   */
  look(): LoadedPolicies | undefined {
    const { folder, log } = this.#options;
    if (folder === undefined) return undefined;
    try {
      const fingerprint = fingerprintOf(folder);
      const isStill = fingerprint === this.#seen;
      this.#seen = fingerprint;
      if (fingerprint === this.#fingerprint || !isStill) return undefined;
      // Told once, also when it cannot be used.
      this.#fingerprint = fingerprint;
      return this.load();
    } catch (thrown) {
      log.error('policy.not_loaded', { reason: thrown instanceof Error ? thrown.message.slice(0, 500) : 'thrown' });
      return undefined;
    }
  }
}
