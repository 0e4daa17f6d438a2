import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { armFaultPoints, type Faults, PACES, type Pace, type PublicKeyEntry, parseFaults } from '@toolfabric/kernel';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';
import type { SocketConfig } from './http/listen-on-socket.ts';
import { DEFAULT_LIMITS, type EgressLimits } from './limits.ts';
import { type PrivateOrigin, PrivateOrigins } from './oauth/private-origins.ts';

export interface EgressConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  readonly socket: SocketConfig;
  /** Whose signatures on permits are good. */
  readonly publicKeys: readonly PublicKeyEntry[];
  /** The pools whose permits are good here. */
  readonly kinds: readonly string[];
  /** PEM files of the authority of this installation. Both or none; with `create` they are made when they are missing. */
  readonly authority?: { readonly certFile: string; readonly keyFile: string; readonly create: boolean };
  /** PEM. */
  readonly extraCa: readonly string[];
  readonly limits: EgressLimits;
  /** Files of the keys of the vault, the one for new secrets first; without one there are no credentials. */
  readonly vaultKeyFiles: readonly string[];
  /** Authorisation servers, and addresses that credentials are tested at, that may lie inside. */
  readonly privateOrigins: readonly PrivateOrigin[];
  /** Addresses beside loopback ones that a login comes back to. */
  readonly redirectUris: readonly string[];
  readonly pace: Pace;
  readonly faults: Faults;
  readonly telemetry: TelemetrySettings;
  /** No port for health when left out. */
  readonly healthPort?: number;
  /** Loopback when left out. */
  readonly healthHost?: string;
}

const Whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const RedirectUris = z
  .string()
  .transform((text) => text.split(',').filter((one) => one !== ''))
  .pipe(z.array(z.url({ protocol: /^https$/ })).max(16));
const File = z.string().min(1).optional();

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_PUBLIC_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_EGRESS_SOCKET: z.string().refine(isAbsolute, 'an absolute path'),
  TOOLFABRIC_EGRESS_SOCKET_GROUP: Whole(0, 2 ** 31 - 1).optional(),
  TOOLFABRIC_EGRESS_KINDS: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(Token).min(1)),
  TOOLFABRIC_EGRESS_CA_CERT_FILE: File,
  TOOLFABRIC_EGRESS_CA_KEY_FILE: File,
  TOOLFABRIC_EGRESS_CA_CREATE: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_EGRESS_EXTRA_CA_FILE: File,
  TOOLFABRIC_EGRESS_PERMITS: Whole(1, 1_000_000).default(DEFAULT_LIMITS.permits),
  TOOLFABRIC_EGRESS_CONNECTIONS: Whole(1, 100_000).default(DEFAULT_LIMITS.connections),
  TOOLFABRIC_EGRESS_IDLE_MS: Whole(10, 3_600_000).default(DEFAULT_LIMITS.idleMs),
  TOOLFABRIC_EGRESS_CONNECTION_MS: Whole(10, 86_400_000).default(DEFAULT_LIMITS.connectionMs),
  TOOLFABRIC_VAULT_KEY_FILES: z.string().default(''),
  TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS: PrivateOrigins.default([]),
  TOOLFABRIC_CREDENTIAL_REDIRECT_URIS: RedirectUris.default([]),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: Whole(0, 65_535).optional(),
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
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): EgressConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  const { TOOLFABRIC_EGRESS_SOCKET_GROUP: group, TOOLFABRIC_EGRESS_EXTRA_CA_FILE: extra } = values;
  const authority = authorityOf(values);
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
    },
    socket: { path: values.TOOLFABRIC_EGRESS_SOCKET, ...(group === undefined ? {} : { group }) },
    publicKeys: PublicKeys.parse(JSON.parse(readFileSync(values.TOOLFABRIC_PUBLIC_KEYS_FILE, 'utf8'))),
    kinds: values.TOOLFABRIC_EGRESS_KINDS,
    ...(authority === undefined ? {} : { authority }),
    extraCa: extra === undefined ? [] : [readFileSync(extra, 'utf8')],
    limits: {
      ...DEFAULT_LIMITS,
      permits: values.TOOLFABRIC_EGRESS_PERMITS,
      connections: values.TOOLFABRIC_EGRESS_CONNECTIONS,
      idleMs: values.TOOLFABRIC_EGRESS_IDLE_MS,
      connectionMs: values.TOOLFABRIC_EGRESS_CONNECTION_MS,
    },
    vaultKeyFiles: values.TOOLFABRIC_VAULT_KEY_FILES.split(':').filter((file) => file !== ''),
    privateOrigins: values.TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS,
    redirectUris: values.TOOLFABRIC_CREDENTIAL_REDIRECT_URIS,
    pace: PACES[values.TOOLFABRIC_PACE],
    faults: armFaultPoints(parseFaults(values.TOOLFABRIC_FAULTS), values.TOOLFABRIC_TEST === '1'),
    telemetry: telemetrySettings(values),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};

const authorityOf = (values: Values): EgressConfig['authority'] => {
  const { TOOLFABRIC_EGRESS_CA_CERT_FILE: certFile, TOOLFABRIC_EGRESS_CA_KEY_FILE: keyFile } = values;
  const create = values.TOOLFABRIC_EGRESS_CA_CREATE === '1';
  if (certFile === undefined && keyFile === undefined && !create) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    throw new Error('TOOLFABRIC_EGRESS_CA_CERT_FILE and TOOLFABRIC_EGRESS_CA_KEY_FILE go together');
  }
  const present = [certFile, keyFile].filter((file) => existsSync(file)).length;
  if (present === 1 || (present === 0 && !create)) throw new Error('a file of the authority of the egress is missing');
  return { certFile, keyFile, create };
};
