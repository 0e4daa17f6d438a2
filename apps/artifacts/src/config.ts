import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { armFaultPoints, type Faults, PACES, type Pace, type PublicKeyEntry, parseFaults } from '@toolfabric/kernel';
import type { ListenConfig } from '@toolfabric/service-host';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';
import { type ArchiveLimits, DEFAULT_LIMITS } from './archive/limits.ts';
import type { StoreConfig } from './store/open-store.ts';

export interface ArtifactsConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  readonly listen: ListenConfig;
  readonly store: StoreConfig;
  /** Whose signatures on permits are good. */
  readonly publicKeys: readonly PublicKeyEntry[];
  readonly limits: ArchiveLimits;
  /** Milliseconds between two looks for what has expired. */
  readonly sweepEveryMs: number;
  readonly pace: Pace;
  readonly faults: Faults;
  /** No port of its own for health when left out; the front door answers it too. */
  readonly telemetry: TelemetrySettings;
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const Port = z.coerce.number().int().min(0).max(65_535);
const Flag = z.enum(['0', '1']).default('0');
const Whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const TEBIBYTE = 1024 ** 4;
/** What S3 copies in one request. */
const S3_COPY_BYTES = 5 * 1024 ** 3;

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_PUBLIC_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_ARTIFACTS_HOST: z.string().min(1).default('127.0.0.1'),
  TOOLFABRIC_ARTIFACTS_PORT: Port.default(7410),
  TOOLFABRIC_ARTIFACTS_INSECURE: Flag,
  TOOLFABRIC_TLS_CERT_FILE: z.string().min(1).optional(),
  TOOLFABRIC_TLS_KEY_FILE: z.string().min(1).optional(),
  TOOLFABRIC_ARTIFACTS_DIR: z.string().refine(isAbsolute, 'an absolute path').optional(),
  TOOLFABRIC_ARTIFACTS_S3_BUCKET: z.string().min(1).optional(),
  TOOLFABRIC_ARTIFACTS_S3_PREFIX: z
    .string()
    .regex(/^([A-Za-z0-9_.-]+\/)*$/, 'folders, each with a slash behind it')
    .default(''),
  TOOLFABRIC_ARTIFACTS_S3_REGION: z.string().min(1).default('us-east-1'),
  TOOLFABRIC_ARTIFACTS_S3_ENDPOINT: z.url().optional(),
  TOOLFABRIC_ARTIFACTS_S3_PATH_STYLE: Flag,
  TOOLFABRIC_ARTIFACTS_S3_UNFENCED: Flag,
  TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE: z.string().min(1).optional(),
  TOOLFABRIC_ARTIFACTS_S3_SECRET_KEY_FILE: z.string().min(1).optional(),
  TOOLFABRIC_ARTIFACTS_TENANT_BYTES: Whole(1, 1_024 * TEBIBYTE).default(DEFAULT_LIMITS.tenantBytes),
  TOOLFABRIC_ARTIFACTS_TENANT_COUNT: Whole(1, 10_000_000).default(DEFAULT_LIMITS.tenantArtifacts),
  TOOLFABRIC_ARTIFACTS_MAX_BYTES: Whole(1, TEBIBYTE).default(DEFAULT_LIMITS.artifactBytes),
  TOOLFABRIC_ARTIFACTS_LOG_BYTES: Whole(1, 1024 ** 3).default(DEFAULT_LIMITS.logBytes),
  TOOLFABRIC_ARTIFACTS_LOG_QUIET_MS: Whole(1, 7 * 86_400_000).default(DEFAULT_LIMITS.logQuietMs),
  TOOLFABRIC_ARTIFACTS_SWEEP_MS: Whole(10, 86_400_000).default(60_000),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: Flag,
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: Port.optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
  ...TELEMETRY_ENVIRONMENT,
});
type Values = z.infer<typeof Environment>;

const PublicKeys = z.array(
  z.strictObject({
    kid: z.string(),
    roles: z.array(z.enum(['router', 'worker', 'gateway'])),
    publicKey: z.string(),
  }),
);

/** Throws with the names of the variables that are missing or wrong. Reads the files that they name, and nothing else. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): ArtifactsConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  const tls = tlsOf(values);
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: secretOf(values.TOOLFABRIC_NKEY_SEED_FILE),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
    },
    listen: {
      host: values.TOOLFABRIC_ARTIFACTS_HOST,
      port: values.TOOLFABRIC_ARTIFACTS_PORT,
      insecure: values.TOOLFABRIC_ARTIFACTS_INSECURE === '1',
      ...(tls && { tls }),
    },
    store: storeOf(values),
    publicKeys: PublicKeys.parse(JSON.parse(readFileSync(values.TOOLFABRIC_PUBLIC_KEYS_FILE, 'utf8'))),
    limits: limitsOf(values),
    sweepEveryMs: values.TOOLFABRIC_ARTIFACTS_SWEEP_MS,
    pace: PACES[values.TOOLFABRIC_PACE],
    faults: armFaultPoints(parseFaults(values.TOOLFABRIC_FAULTS), values.TOOLFABRIC_TEST === '1'),
    telemetry: telemetrySettings(values),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};

const secretOf = (file: string): string => readFileSync(file, 'utf8').trim();

const limitsOf = (values: Values): ArchiveLimits => ({
  ...DEFAULT_LIMITS,
  tenantBytes: values.TOOLFABRIC_ARTIFACTS_TENANT_BYTES,
  tenantArtifacts: values.TOOLFABRIC_ARTIFACTS_TENANT_COUNT,
  artifactBytes: values.TOOLFABRIC_ARTIFACTS_MAX_BYTES,
  logBytes: values.TOOLFABRIC_ARTIFACTS_LOG_BYTES,
  logQuietMs: values.TOOLFABRIC_ARTIFACTS_LOG_QUIET_MS,
});

const storeOf = (values: Values): StoreConfig => {
  const { TOOLFABRIC_ARTIFACTS_DIR: directory, TOOLFABRIC_ARTIFACTS_S3_BUCKET: bucket } = values;
  if (directory !== undefined && bucket === undefined) return { type: 'directory', directory };
  if (directory !== undefined || bucket === undefined) {
    throw new Error('give one of TOOLFABRIC_ARTIFACTS_DIR and TOOLFABRIC_ARTIFACTS_S3_BUCKET');
  }
  if (values.TOOLFABRIC_ARTIFACTS_MAX_BYTES > S3_COPY_BYTES) {
    throw new Error(`TOOLFABRIC_ARTIFACTS_MAX_BYTES: a bucket takes at most ${S3_COPY_BYTES}`);
  }
  const credentials = credentialsOf(values);
  return {
    type: 's3',
    bucket,
    prefix: values.TOOLFABRIC_ARTIFACTS_S3_PREFIX,
    region: values.TOOLFABRIC_ARTIFACTS_S3_REGION,
    pathStyle: values.TOOLFABRIC_ARTIFACTS_S3_PATH_STYLE === '1',
    unfenced: values.TOOLFABRIC_ARTIFACTS_S3_UNFENCED === '1',
    ...(values.TOOLFABRIC_ARTIFACTS_S3_ENDPOINT === undefined
      ? {}
      : { endpoint: values.TOOLFABRIC_ARTIFACTS_S3_ENDPOINT }),
    ...(credentials && { credentials }),
  };
};

const credentialsOf = (values: Values) => {
  const id = values.TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE;
  const secret = values.TOOLFABRIC_ARTIFACTS_S3_SECRET_KEY_FILE;
  if (id === undefined && secret === undefined) return undefined;
  if (id !== undefined && secret !== undefined) return { accessKeyId: secretOf(id), secretAccessKey: secretOf(secret) };
  throw new Error('TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE and TOOLFABRIC_ARTIFACTS_S3_SECRET_KEY_FILE go together');
};

const tlsOf = ({
  TOOLFABRIC_TLS_CERT_FILE: certFile,
  TOOLFABRIC_TLS_KEY_FILE: keyFile,
}: Values): ListenConfig['tls'] => {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new Error('TOOLFABRIC_TLS_CERT_FILE and TOOLFABRIC_TLS_KEY_FILE go together');
};
