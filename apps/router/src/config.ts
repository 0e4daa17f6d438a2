import { readFileSync } from 'node:fs';
import { type BusConfig, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { parseQuotas, type QuotaConfig } from '@toolfabric/governance';
import { armFaultPoints, type Faults, PACES, type Pace, parseFaults } from '@toolfabric/kernel';
import { TELEMETRY_ENVIRONMENT, type TelemetrySettings, telemetrySettings } from '@toolfabric/telemetry/settings';
import { z } from 'zod';
import type { WebhookConfig } from './approvals/webhook.ts';

export interface RouterConfig {
  readonly bus: Pick<BusConfig, 'servers' | 'nkeySeed' | 'publicKeys'>;
  readonly signing: { readonly kid: string; readonly privateKey: string };
  /** The pools that this installation has. */
  readonly kinds: readonly string[];
  /** Folder of the policies; only what comes with the fabric holds when left out. */
  readonly policyDir?: string;
  readonly tenancy: 'single' | 'shared';
  /** What each tenant and tool may take; generous when no file says otherwise. */
  readonly quotas?: QuotaConfig;
  readonly environment: 'development' | 'production';
  readonly pace: Pace;
  readonly faults: Faults;
  readonly telemetry: TelemetrySettings;
  /** Of the installation: makes the marks of redacted secrets. Without it arguments and results are not recorded. */
  readonly redactionSecret?: Uint8Array;
  /** Whom to tell about approvals; nobody when left out. */
  readonly webhook?: WebhookConfig;
  /** No health port when left out. */
  readonly healthPort?: number;
  /** Loopback when left out; a pod's probes come from the node. */
  readonly healthHost?: string;
}

const Environment = z.object({
  TOOLFABRIC_NATS_URL: z.string().min(1),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1),
  TOOLFABRIC_BUS_KEYS_FILE: z.string().min(1),
  TOOLFABRIC_SIGNING_KEY_FILE: z.string().min(1),
  TOOLFABRIC_SIGNING_KID: z.string().min(1),
  TOOLFABRIC_KINDS: z.string().min(1).default('cli,web'),
  TOOLFABRIC_POLICY_DIR: z.string().min(1).optional(),
  TOOLFABRIC_QUOTAS: z.string().min(1).optional(),
  TOOLFABRIC_APPROVAL_WEBHOOK_URL: z.url({ protocol: /^https?$/ }).optional(),
  TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE: z.string().min(1).optional(),
  TOOLFABRIC_REDACTION_KEY_FILE: z.string().min(1).optional(),
  TOOLFABRIC_TENANCY: z.enum(['single', 'shared']).default('shared'),
  TOOLFABRIC_ENVIRONMENT: z.enum(['development', 'production']).default('production'),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  TOOLFABRIC_HEALTH_HOST: z.string().min(1).optional(),
  ...TELEMETRY_ENVIRONMENT,
});

const quotasFrom = (file: string | undefined): QuotaConfig =>
  parseQuotas(file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8')));

const MIN_SECRET_BYTES = 32;

/** As the workers read it, so that marks can be compared. */
const readSecret = (file: string, variable = 'TOOLFABRIC_REDACTION_KEY_FILE'): Uint8Array => {
  const secret = Buffer.from(readFileSync(file, 'utf8').trim(), 'utf8');
  if (secret.length >= MIN_SECRET_BYTES) return secret;
  throw new Error(`${variable}: holds fewer than ${MIN_SECRET_BYTES} bytes`);
};

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const webhookFrom = (url: string | undefined, secretFile: string | undefined): Pick<RouterConfig, 'webhook'> => {
  if (url === undefined && secretFile === undefined) return {};
  if (url === undefined || secretFile === undefined)
    throw new Error('TOOLFABRIC_APPROVAL_WEBHOOK_URL and TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE go together');
  const { protocol, hostname, username, password } = new URL(url);
  if (protocol !== 'https:' && !LOOPBACK.test(hostname))
    throw new Error('TOOLFABRIC_APPROVAL_WEBHOOK_URL: beyond loopback it must be https');
  if (username !== '' || password !== '')
    throw new Error('TOOLFABRIC_APPROVAL_WEBHOOK_URL: holds a user or a password; notices are signed instead');
  return { webhook: { url, secret: readSecret(secretFile, 'TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE') } };
};

/** Throws with the names of the variables that are missing or wrong. Reads the key files. */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): RouterConfig => {
  const read = Environment.safeParse(env);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const values = read.data;
  return {
    bus: {
      servers: values.TOOLFABRIC_NATS_URL.split(','),
      nkeySeed: readFileSync(values.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim(),
      publicKeys: parsePublicBusKeys(readFileSync(values.TOOLFABRIC_BUS_KEYS_FILE, 'utf8')),
    },
    signing: {
      kid: values.TOOLFABRIC_SIGNING_KID,
      privateKey: readFileSync(values.TOOLFABRIC_SIGNING_KEY_FILE, 'utf8'),
    },
    kinds: values.TOOLFABRIC_KINDS.split(','),
    ...(values.TOOLFABRIC_POLICY_DIR === undefined ? {} : { policyDir: values.TOOLFABRIC_POLICY_DIR }),
    tenancy: values.TOOLFABRIC_TENANCY,
    quotas: quotasFrom(values.TOOLFABRIC_QUOTAS),
    environment: values.TOOLFABRIC_ENVIRONMENT,
    telemetry: telemetrySettings(values),
    ...(values.TOOLFABRIC_REDACTION_KEY_FILE === undefined
      ? {}
      : { redactionSecret: readSecret(values.TOOLFABRIC_REDACTION_KEY_FILE) }),
    ...webhookFrom(values.TOOLFABRIC_APPROVAL_WEBHOOK_URL, values.TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE),
    pace: PACES[values.TOOLFABRIC_PACE],
    faults: armFaultPoints(parseFaults(values.TOOLFABRIC_FAULTS), values.TOOLFABRIC_TEST === '1'),
    ...(values.TOOLFABRIC_HEALTH_PORT === undefined ? {} : { healthPort: values.TOOLFABRIC_HEALTH_PORT }),
    ...(values.TOOLFABRIC_HEALTH_HOST === undefined ? {} : { healthHost: values.TOOLFABRIC_HEALTH_HOST }),
  };
};
