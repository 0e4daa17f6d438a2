import { readFileSync } from 'node:fs';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { armFaultPoints, type Faults, PACES, type Pace, parseFaults } from '@toolfabric/kernel';
import type { ListenConfig } from '@toolfabric/service-host';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';
import { type GatewayLimits, LIMITS } from './limits.ts';
import { OidcFile, type OidcIssuer } from './oidc/issuer-config.ts';

export interface GatewayConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  readonly listen: ListenConfig;
  /** JSON list of `TokenEntry`. */
  readonly tokensFile: string;
  /** Issuers of tokens that are believed beside our own. */
  readonly issuers: readonly OidcIssuer[];
  readonly pace: Pace;
  readonly limits: GatewayLimits;
  readonly faults: Faults;
  /** No artifact store when left out: its verbs are then `not_configured`. */
  readonly artifacts?: { readonly url: string; readonly ca?: string };
  /** Whether there is a trace store to be asked; without one its verbs are `not_configured`. */
  readonly hasTraces: boolean;
  readonly telemetry: TelemetrySettings;
  /** No health port when left out. */
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const Port = z.coerce.number().int().min(0).max(65_535);

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_TOKENS_FILE: z.string().min(1),
  TOOLFABRIC_OIDC_FILE: z.string().min(1).optional(),
  TOOLFABRIC_GATEWAY_HOST: z.string().min(1).default('127.0.0.1'),
  TOOLFABRIC_GATEWAY_PORT: Port.default(7400),
  TOOLFABRIC_GATEWAY_INSECURE: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_TLS_CERT_FILE: z.string().min(1).optional(),
  TOOLFABRIC_TLS_KEY_FILE: z.string().min(1).optional(),
  TOOLFABRIC_ARTIFACTS_URL: z.url({ protocol: /^https?$/ }).optional(),
  TOOLFABRIC_ARTIFACTS_CA_FILE: z.string().min(1).optional(),
  TOOLFABRIC_TRACES: z.enum(['on', 'off']).default('on'),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: Port.optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
  ...TELEMETRY_ENVIRONMENT,
});

/** Throws with the names of the variables that are missing or wrong. Reads the key file and certificates, and nothing else. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): GatewayConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  const tls = tlsOf(values.TOOLFABRIC_TLS_CERT_FILE, values.TOOLFABRIC_TLS_KEY_FILE);
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
    },
    listen: {
      host: values.TOOLFABRIC_GATEWAY_HOST,
      port: values.TOOLFABRIC_GATEWAY_PORT,
      insecure: values.TOOLFABRIC_GATEWAY_INSECURE === '1',
      ...(tls && { tls }),
    },
    ...artifactsOf(values.TOOLFABRIC_ARTIFACTS_URL, values.TOOLFABRIC_ARTIFACTS_CA_FILE),
    hasTraces: values.TOOLFABRIC_TRACES === 'on',
    tokensFile: values.TOOLFABRIC_TOKENS_FILE,
    issuers: issuersOf(values.TOOLFABRIC_OIDC_FILE),
    pace: PACES[values.TOOLFABRIC_PACE],
    limits: LIMITS,
    telemetry: telemetrySettings(values),
    faults: armFaultPoints(parseFaults(values.TOOLFABRIC_FAULTS), values.TOOLFABRIC_TEST === '1'),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};

const artifactsOf = (url: string | undefined, caFile: string | undefined): Pick<GatewayConfig, 'artifacts'> =>
  url === undefined
    ? {}
    : { artifacts: { url, ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }) } };

const issuersOf = (file: string | undefined): readonly OidcIssuer[] => {
  if (file === undefined) return [];
  const read = OidcFile.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (read.success) return read.data;
  throw new Error(`TOOLFABRIC_OIDC_FILE is not valid: ${z.prettifyError(read.error)}`);
};

const tlsOf = (certFile: string | undefined, keyFile: string | undefined): ListenConfig['tls'] => {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new Error('TOOLFABRIC_TLS_CERT_FILE and TOOLFABRIC_TLS_KEY_FILE go together');
};
