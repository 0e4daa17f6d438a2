import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { armFaultPoints, type Faults, PACES, type Pace, type PublicKeyEntry, parseFaults } from '@toolfabric/kernel';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';

export interface WorkerWebConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  /** Name of the pool. */
  readonly kind: string;
  /** Whose signatures on work are good. */
  readonly publicKeys: readonly PublicKeyEntry[];
  readonly pace: Pace;
  readonly faults: Faults;
  /** Calls that run at once. */
  readonly slots: number;
  /** The socket of the egress beside this worker: its only way out. */
  readonly egressSocket: string;
  /** The authority that vouches for hosts whose exchange the egress reads: its PEM text, and its file for programs. */
  readonly egressCa?: { readonly pem: string; readonly file: string };
  /** How it calls itself to sites. */
  readonly agent: string;
  /** Sites may forbid addresses to it by their robots.txt. */
  readonly obeysRobots: boolean;
  /** Bytes of answers that are kept for each tenant. */
  readonly cacheBytes: number;
  /** Threads in which pages are read. */
  readonly threads: number;
  /** Holds a folder for each tenant, named like it, that `web.search` looks through. */
  readonly searchFolder?: string;
  /** Base address of the artifact store; without it nothing is stored, and results say so. */
  readonly artifactsUrl?: string;
  /** PEM text of the authority of its certificate; the public ones when left out. */
  readonly artifactsCa?: string;
  /** Of the installation, at least 32 bytes: makes the marks of redacted secrets. */
  readonly redactionSecret?: Uint8Array;
  readonly telemetry: TelemetrySettings;
  /** No health port when left out. */
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const MIB = 1024 ** 2;
const Whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const File = z.string().refine(isAbsolute, 'an absolute path');

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_PUBLIC_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_KIND: Token.default('web'),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: Whole(0, 65_535).optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
  TOOLFABRIC_SLOTS: Whole(1, 64).default(8),
  TOOLFABRIC_EGRESS_SOCKET: File,
  TOOLFABRIC_EGRESS_CA_FILE: File.optional(),
  TOOLFABRIC_WEB_AGENT: z
    .string()
    .regex(/^[A-Za-z_-]{1,40}(\/[\w.-]{1,20})?( [!-~ ]{1,200})?$/, 'a name, "/" and a version, and a remark')
    .default('Toolfabric/0.1'),
  TOOLFABRIC_WEB_ROBOTS: z.enum(['obey', 'ignore']).default('obey'),
  TOOLFABRIC_WEB_CACHE_BYTES: Whole(0, 1024 * MIB).default(16 * MIB),
  TOOLFABRIC_WEB_THREADS: Whole(1, 32).default(2),
  TOOLFABRIC_SEARCH_FOLDER: File.optional(),
  TOOLFABRIC_ARTIFACTS_URL: z.url().optional(),
  TOOLFABRIC_ARTIFACTS_CA_FILE: z.string().min(1).optional(),
  TOOLFABRIC_REDACTION_KEY_FILE: z.string().min(1).optional(),
  ...TELEMETRY_ENVIRONMENT,
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
  const secret = Buffer.from(readFileSync(file, 'utf8').trim(), 'utf8');
  if (secret.length >= MIN_SECRET_BYTES) return secret;
  throw new Error(`TOOLFABRIC_REDACTION_KEY_FILE: holds fewer than ${MIN_SECRET_BYTES} bytes`);
};

type Values = z.infer<typeof Environment>;

const authorities = (values: Values): Pick<WorkerWebConfig, 'egressCa' | 'artifactsCa'> => {
  const { TOOLFABRIC_EGRESS_CA_FILE: egress, TOOLFABRIC_ARTIFACTS_CA_FILE: artifacts } = values;
  return {
    ...(egress === undefined ? {} : { egressCa: { pem: readFileSync(egress, 'utf8'), file: egress } }),
    ...(artifacts === undefined ? {} : { artifactsCa: readFileSync(artifacts, 'utf8') }),
  };
};

/** Throws with the names of the variables that are missing or wrong. Reads the key files, and nothing else. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): WorkerWebConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
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
    egressSocket: values.TOOLFABRIC_EGRESS_SOCKET,
    agent: values.TOOLFABRIC_WEB_AGENT,
    obeysRobots: values.TOOLFABRIC_WEB_ROBOTS === 'obey',
    cacheBytes: values.TOOLFABRIC_WEB_CACHE_BYTES,
    threads: values.TOOLFABRIC_WEB_THREADS,
    telemetry: telemetrySettings(values),
    ...authorities(values),
    ...(values.TOOLFABRIC_SEARCH_FOLDER === undefined ? {} : { searchFolder: values.TOOLFABRIC_SEARCH_FOLDER }),
    ...(values.TOOLFABRIC_ARTIFACTS_URL === undefined ? {} : { artifactsUrl: values.TOOLFABRIC_ARTIFACTS_URL }),
    ...(values.TOOLFABRIC_REDACTION_KEY_FILE === undefined
      ? {}
      : { redactionSecret: readSecret(values.TOOLFABRIC_REDACTION_KEY_FILE) }),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};
