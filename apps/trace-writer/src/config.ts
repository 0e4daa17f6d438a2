import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { PACES, type Pace } from '@toolfabric/kernel';
import type { Retention, TraceStoreConfig } from '@toolfabric/trace-clickhouse';
import { z } from 'zod';

export interface TraceWriterConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  /** The pools whose events are taken. */
  readonly kinds: readonly string[];
  readonly store: TraceStoreConfig;
  readonly retention: Retention;
  /** Events that one stream may have under way here, and bytes of all of them together. */
  readonly room: { readonly events: number; readonly bytes: number };
  readonly pace: Pace;
  /** Milliseconds between two looks for new events. */
  readonly everyMs: number;
  /** Priority of this process and of the engine's, from 0 (as any other) to 19 (last). */
  readonly niceness: number;
  /** No health port when left out. */
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const MIB = 1024 * 1024;
const Days = z.coerce.number().int().min(1).max(3_650);

/** `acme=7,rival=90` */
const TenantDays = z
  .string()
  .transform((text): unknown =>
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => part.split('=').map((side) => side.trim())),
  )
  .pipe(z.array(z.tuple([Token, Days])))
  .transform((pairs): Record<string, number> => Object.fromEntries(pairs));

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_KINDS: z.string().min(1).default('cli,web'),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TRACE_RETENTION_DAYS: Days.default(30),
  TOOLFABRIC_TRACE_TENANT_DAYS: TenantDays.default(() => ({})),
  TOOLFABRIC_TRACE_HELD_EVENTS: z.coerce.number().int().min(1).max(100_000).default(6_000),
  /** KiB. */
  TOOLFABRIC_TRACE_HELD_KB: z.coerce.number().int().min(1).max(1_048_576).default(24_576),
  TOOLFABRIC_TRACE_NICENESS: z.coerce.number().int().min(0).max(19).default(10),
  TOOLFABRIC_HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
});

const Store = z.discriminatedUnion('TOOLFABRIC_TRACE_STORE', [
  z.object({
    TOOLFABRIC_TRACE_STORE: z.literal('chdb'),
    TOOLFABRIC_TRACE_DIR: z.string().refine(isAbsolute, 'an absolute path'),
    /** Bytes that the process of the engine may hold, in MiB. */
    TOOLFABRIC_TRACE_MEMORY_MB: z.coerce.number().int().min(512).max(1_048_576).default(1_024),
    /** Another package with the same interface. */
    TOOLFABRIC_TRACE_ENGINE: z.string().min(1).default('chdb'),
  }),
  z.object({
    TOOLFABRIC_TRACE_STORE: z.literal('clickhouse'),
    TOOLFABRIC_CLICKHOUSE_URL: z.url({ protocol: /^https?$/ }),
    TOOLFABRIC_CLICKHOUSE_USER: z.string().min(1).default('default'),
    TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE: z.string().min(1).optional(),
    TOOLFABRIC_CLICKHOUSE_DATABASE: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,62}$/, 'lower-case letters, digits and "_"')
      .default('toolfabric'),
  }),
]);

type Environ = Readonly<Record<string, string | undefined>>;

const parse = <T>(schema: z.ZodType<T>, env: Environ): T => {
  const read = schema.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  return read.data;
};

const LONGEST_REST_MS = 1_000;
const LONGEST_INSERT_MS = 30_000;
const LONGEST_QUERY_MS = 10_000;

/** A store that does not answer counts as away after this; the hurried pace of tests waits less. */
const timesOf = (pace: Pace) => ({
  insertMs: Math.min(LONGEST_INSERT_MS, pace.ackWaitMs * 3),
  queryMs: Math.min(LONGEST_QUERY_MS, pace.ackWaitMs * 3),
});

const storeFrom = (env: Environ, pace: Pace, niceness: number): TraceStoreConfig => {
  const store = parse(Store, { ...env, TOOLFABRIC_TRACE_STORE: env['TOOLFABRIC_TRACE_STORE'] ?? 'chdb' });
  if (store.TOOLFABRIC_TRACE_STORE === 'chdb')
    return {
      type: 'chdb',
      directory: store.TOOLFABRIC_TRACE_DIR,
      memoryBytes: store.TOOLFABRIC_TRACE_MEMORY_MB * MIB,
      module: store.TOOLFABRIC_TRACE_ENGINE,
      niceness,
      ...timesOf(pace),
    };
  const file = store.TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE;
  return {
    type: 'clickhouse',
    url: store.TOOLFABRIC_CLICKHOUSE_URL,
    username: store.TOOLFABRIC_CLICKHOUSE_USER,
    password: file === undefined ? '' : readFileSync(file, 'utf8').trim(),
    database: store.TOOLFABRIC_CLICKHOUSE_DATABASE,
    ...timesOf(pace),
  };
};

/** Throws with the names of the variables that are missing or wrong. Reads the seed and the password file. */
export const readConfig = (env: Environ = process.env): TraceWriterConfig => {
  const values = parse(Environment, env);
  const pace = PACES[values.TOOLFABRIC_PACE];
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
    },
    kinds: values.TOOLFABRIC_KINDS.split(','),
    store: storeFrom(env, pace, values.TOOLFABRIC_TRACE_NICENESS),
    retention: { days: values.TOOLFABRIC_TRACE_RETENTION_DAYS, tenants: values.TOOLFABRIC_TRACE_TENANT_DAYS },
    room: { events: values.TOOLFABRIC_TRACE_HELD_EVENTS, bytes: values.TOOLFABRIC_TRACE_HELD_KB * 1024 },
    pace,
    everyMs: Math.min(LONGEST_REST_MS, pace.heartbeatMs / 5),
    niceness: values.TOOLFABRIC_TRACE_NICENESS,
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};
