import { readFileSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import type { BusConfig } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { armFaultPoints, type Faults, PACES, type Pace, type PublicKeyEntry, parseFaults } from '@toolfabric/kernel';
import { z } from 'zod';
import type { UserRange } from './workspace/workspace-users.ts';

export interface WorkerCliConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed'>;
  /** Name of the pool. */
  readonly kind: string;
  /** Whose signatures on work are good. */
  readonly publicKeys: readonly PublicKeyEntry[];
  readonly pace: Pace;
  readonly faults: Faults;
  /** Calls that run at once. */
  readonly slots: number;
  /** Workspaces, locks and records; outside of every configured root. */
  readonly stateDir: string;
  /** Absolute directories; a task may use or clone what lies at or below one of them. */
  readonly workspaceRoots: readonly string[];
  /** Absolute directories: no workspace and no source of a clone lies in, at or above one. The state always is one. */
  readonly protectedDirs: readonly string[];
  /** Absolute directories inside protected ones that may be cloned nevertheless: they alone. */
  readonly cloneSources: readonly string[];
  /** A person said at set-up that directories of root may be used. */
  readonly allowRootOwned: boolean;
  /** User ids that belong to nobody else on this machine, for a root worker. */
  readonly workspaceUsers: UserRange;
  /** Milliseconds that an edit waits for the lock of its workspace. */
  readonly lockWaitMs: number;
  /** Directories in which system programs are looked for. */
  readonly searchPath: readonly string[];
  /** No health port when left out. */
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const Flag = z.enum(['0', '1']).default('0');
const Whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const Directory = z.string().refine(isAbsolute, 'an absolute path');
const Directories = z
  .string()
  .transform((text) => text.split(delimiter).filter((part) => part !== ''))
  .pipe(z.array(Directory));

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_PUBLIC_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_KIND: Token.default('cli'),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: Flag,
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: Whole(0, 65_535).optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
  TOOLFABRIC_SLOTS: Whole(1, 64).default(4),
  TOOLFABRIC_STATE_DIR: Directory,
  /** Separated as in `PATH`. */
  TOOLFABRIC_WORKSPACE_ROOTS: Directories.default([]),
  /** Separated as in `PATH`. */
  TOOLFABRIC_PROTECTED_DIRS: Directories.default([]),
  /** Separated as in `PATH`. */
  TOOLFABRIC_CLONE_SOURCES: Directories.default([]),
  TOOLFABRIC_ALLOW_ROOT_OWNED: Flag,
  TOOLFABRIC_WORKSPACE_UID_FIRST: Whole(1_000, 2_147_483_647).default(40_000),
  TOOLFABRIC_WORKSPACE_UID_COUNT: Whole(1, 1_000_000).default(20_000),
  TOOLFABRIC_LOCK_WAIT_MS: Whole(100, 60_000).default(5_000),
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
});

const PublicKeys = z.array(
  z.strictObject({
    kid: z.string(),
    roles: z.array(z.enum(['router', 'worker', 'gateway'])),
    publicKey: z.string(),
  }),
);

/** Throws with the names of the variables that are missing or wrong. Reads the two key files, and nothing else. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): WorkerCliConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
    },
    kind: values.TOOLFABRIC_KIND,
    publicKeys: PublicKeys.parse(JSON.parse(readFileSync(values.TOOLFABRIC_PUBLIC_KEYS_FILE, 'utf8'))),
    pace: PACES[values.TOOLFABRIC_PACE],
    faults: armFaultPoints(parseFaults(values.TOOLFABRIC_FAULTS), values.TOOLFABRIC_TEST === '1'),
    slots: values.TOOLFABRIC_SLOTS,
    stateDir: values.TOOLFABRIC_STATE_DIR,
    workspaceRoots: values.TOOLFABRIC_WORKSPACE_ROOTS,
    protectedDirs: values.TOOLFABRIC_PROTECTED_DIRS,
    cloneSources: values.TOOLFABRIC_CLONE_SOURCES,
    allowRootOwned: values.TOOLFABRIC_ALLOW_ROOT_OWNED === '1',
    workspaceUsers: { first: values.TOOLFABRIC_WORKSPACE_UID_FIRST, count: values.TOOLFABRIC_WORKSPACE_UID_COUNT },
    lockWaitMs: values.TOOLFABRIC_LOCK_WAIT_MS,
    searchPath: values.PATH.split(delimiter),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};
