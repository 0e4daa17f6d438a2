import { readFileSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { armFaultPoints, type Faults, PACES, type Pace, type PublicKeyEntry, parseFaults } from '@toolfabric/kernel';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';
import { COMMAND_DEFAULTS, type CommandOptions } from './command/compile-commands.ts';
import { KNOWN_PROGRAMS } from './programs/resolve-program.ts';
import { SNAPSHOT_LIMITS } from './workspace/snapshot/snapshot-limits.ts';
import type { UserRange } from './workspace/workspace-users.ts';

export interface WorkerCliConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
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
  /** Absolute directories: bare repositories below them may be pushed to. */
  readonly gitRemotes: readonly string[];
  /** A person said at set-up that directories of root may be used. */
  readonly allowRootOwned: boolean;
  /** User ids that belong to nobody else on this machine, for a root worker. */
  readonly workspaceUsers: UserRange;
  /** Milliseconds that an edit waits for the lock of its workspace. */
  readonly lockWaitMs: number;
  /** What commands may take, and which there are. */
  readonly commands: CommandOptions;
  /** `shared`: several tenants, so a machine without namespaces is refused. */
  readonly tenancy: 'single' | 'shared';
  /** Base address of the artifact store; without it nothing is stored, and results say so. */
  readonly artifactsUrl?: string;
  /** PEM text of the authority of its certificate; the public ones when left out. */
  readonly artifactsCa?: string;
  /** Of the installation, at least 32 bytes: makes the marks of redacted secrets. */
  readonly redactionSecret?: Uint8Array;
  /** The socket of the egress beside this worker; without one no command has a network. */
  readonly egressSocket?: string;
  /** PEM file of the authority that vouches for hosts whose exchange the egress reads. */
  readonly egressCaFile?: string;
  /** `own`: other workers do not see these workspaces, so that they are kept in snapshots in the artifact store. */
  readonly storage: 'own' | 'shared';
  /** Pin slots of the pool, as they were provisioned; used with storage of its own. */
  readonly pinSlots: number;
  /** Files, directories and links of a workspace that is kept in snapshots. */
  readonly workspaceEntries: number;
  /** Directories in which system programs are looked for. */
  readonly searchPath: readonly string[];
  readonly telemetry: TelemetrySettings;
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

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const Names = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(KNOWN_PROGRAMS as [string, ...string[]])));

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
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
  /** Separated as in `PATH`. */
  TOOLFABRIC_GIT_REMOTES: Directories.default([]),
  TOOLFABRIC_ALLOW_ROOT_OWNED: Flag,
  TOOLFABRIC_WORKSPACE_UID_FIRST: Whole(1_000, 2_147_483_647).default(40_000),
  TOOLFABRIC_WORKSPACE_UID_COUNT: Whole(1, 1_000_000).default(20_000),
  TOOLFABRIC_LOCK_WAIT_MS: Whole(100, 60_000).default(5_000),
  TOOLFABRIC_WORKSPACE_STORAGE: z.enum(['own', 'shared']).default('shared'),
  TOOLFABRIC_WORKSPACE_ENTRIES: Whole(1, 1_000_000).default(SNAPSHOT_LIMITS.entries),
  TOOLFABRIC_PIN_SLOTS: Whole(0, 1_024).default(8),
  TOOLFABRIC_TENANCY: z.enum(['single', 'shared']).default('shared'),
  TOOLFABRIC_ARTIFACTS_URL: z.url().optional(),
  TOOLFABRIC_ARTIFACTS_CA_FILE: z.string().min(1).optional(),
  TOOLFABRIC_REDACTION_KEY_FILE: z.string().min(1).optional(),
  TOOLFABRIC_EGRESS_SOCKET: Directory.optional(),
  TOOLFABRIC_EGRESS_CA_FILE: Directory.optional(),
  TOOLFABRIC_COMMAND_MEMORY_BYTES: Whole(16 * MIB, 1024 * GIB).default(COMMAND_DEFAULTS.memoryBytes),
  TOOLFABRIC_COMMAND_PROCESSES: Whole(8, 100_000).default(COMMAND_DEFAULTS.processes),
  TOOLFABRIC_COMMAND_CPU_MS: Whole(1_000, 86_400_000).default(COMMAND_DEFAULTS.cpuMs),
  TOOLFABRIC_COMMAND_FILE_BYTES: Whole(MIB, 1024 * GIB).default(COMMAND_DEFAULTS.fileBytes),
  TOOLFABRIC_COMMAND_TMP_BYTES: Whole(MIB, 64 * GIB).default(COMMAND_DEFAULTS.tmpBytes),
  TOOLFABRIC_COMMAND_OUTPUT_BYTES: Whole(MIB, 64 * GIB).default(COMMAND_DEFAULTS.outputBytes),
  TOOLFABRIC_WORKSPACE_BYTES: Whole(MIB, 1024 * GIB).default(COMMAND_DEFAULTS.workspaceBytes),
  /** Names with commas between them; every known one when left out. */
  TOOLFABRIC_PROGRAMS: Names.default([...COMMAND_DEFAULTS.programs]),
  /** Separated as in `PATH`. */
  TOOLFABRIC_TOOLCHAIN_DIRS: Directories.default([]),
  TOOLFABRIC_CGROUP: z.string().default(''),
  ...TELEMETRY_ENVIRONMENT,
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
});

const PublicKeys = z.array(
  z.strictObject({
    kid: z.string(),
    roles: z.array(z.enum(['router', 'worker', 'gateway'])),
    publicKey: z.string(),
  }),
);

const MIN_SECRET_BYTES = 32;

/** Raw text, or base64 of at least as many bytes. */
const readSecret = (file: string): Uint8Array => {
  const text = readFileSync(file, 'utf8').trim();
  const secret = Buffer.from(text, 'utf8');
  if (secret.length >= MIN_SECRET_BYTES) return secret;
  throw new Error(`TOOLFABRIC_REDACTION_KEY_FILE: holds fewer than ${MIN_SECRET_BYTES} bytes`);
};

type Values = z.infer<typeof Environment>;

const commandsOf = (values: Values): CommandOptions => ({
  memoryBytes: values.TOOLFABRIC_COMMAND_MEMORY_BYTES,
  processes: values.TOOLFABRIC_COMMAND_PROCESSES,
  cpuMs: values.TOOLFABRIC_COMMAND_CPU_MS,
  fileBytes: values.TOOLFABRIC_COMMAND_FILE_BYTES,
  tmpBytes: values.TOOLFABRIC_COMMAND_TMP_BYTES,
  outputBytes: values.TOOLFABRIC_COMMAND_OUTPUT_BYTES,
  workspaceBytes: values.TOOLFABRIC_WORKSPACE_BYTES,
  stallMs: COMMAND_DEFAULTS.stallMs,
  programs: values.TOOLFABRIC_PROGRAMS,
  toolchains: values.TOOLFABRIC_TOOLCHAIN_DIRS,
  cgroup: values.TOOLFABRIC_CGROUP,
});

/** Throws with the names of the variables that are missing or wrong. Reads the key files, and nothing else. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): WorkerCliConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  if (values.TOOLFABRIC_WORKSPACE_STORAGE === 'own' && values.TOOLFABRIC_ARTIFACTS_URL === undefined) {
    throw new Error('TOOLFABRIC_ARTIFACTS_URL: is needed where TOOLFABRIC_WORKSPACE_STORAGE is own');
  }
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
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
    gitRemotes: values.TOOLFABRIC_GIT_REMOTES,
    allowRootOwned: values.TOOLFABRIC_ALLOW_ROOT_OWNED === '1',
    workspaceUsers: { first: values.TOOLFABRIC_WORKSPACE_UID_FIRST, count: values.TOOLFABRIC_WORKSPACE_UID_COUNT },
    lockWaitMs: values.TOOLFABRIC_LOCK_WAIT_MS,
    commands: commandsOf(values),
    tenancy: values.TOOLFABRIC_TENANCY,
    storage: values.TOOLFABRIC_WORKSPACE_STORAGE,
    pinSlots: values.TOOLFABRIC_PIN_SLOTS,
    workspaceEntries: values.TOOLFABRIC_WORKSPACE_ENTRIES,
    searchPath: values.PATH.split(delimiter),
    telemetry: telemetrySettings(values),
    ...(values.TOOLFABRIC_ARTIFACTS_URL === undefined ? {} : { artifactsUrl: values.TOOLFABRIC_ARTIFACTS_URL }),
    ...(values.TOOLFABRIC_ARTIFACTS_CA_FILE === undefined
      ? {}
      : { artifactsCa: readFileSync(values.TOOLFABRIC_ARTIFACTS_CA_FILE, 'utf8') }),
    ...(values.TOOLFABRIC_EGRESS_SOCKET === undefined ? {} : { egressSocket: values.TOOLFABRIC_EGRESS_SOCKET }),
    ...(values.TOOLFABRIC_EGRESS_CA_FILE === undefined ? {} : { egressCaFile: values.TOOLFABRIC_EGRESS_CA_FILE }),
    ...(values.TOOLFABRIC_REDACTION_KEY_FILE === undefined
      ? {}
      : { redactionSecret: readSecret(values.TOOLFABRIC_REDACTION_KEY_FILE) }),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};
