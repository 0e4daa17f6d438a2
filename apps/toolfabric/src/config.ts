import type { SizesName } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import type { PaceName } from '@toolfabric/kernel';
import { z } from 'zod';

/** What the environment says; a flag of the same name wins over it. */
export interface Config {
  /** Where programs are looked for. */
  readonly path: string;
  readonly stateDir: string | undefined;
  readonly address: string | undefined;
  readonly token: string | undefined;
  readonly pace: PaceName;
  readonly isTest: boolean;
  /** Passed on to the services of `up`, which refuse it outside tests. */
  readonly faults: string;
  /** Settings of single services, which `up` hands to all of them as they are; each reads its own. */
  readonly passedOn: Readonly<Record<string, string>>;
  /** A server for traces that `doctor` looks at beside the embedded engine. */
  readonly clickhouse: ClickhouseAccess | undefined;
  /** For a provisioner that runs by itself; `up` has its own. */
  readonly provision: {
    readonly servers: string | undefined;
    readonly nkeySeedFile: string | undefined;
    /** Names of the pools. */
    readonly kinds: readonly string[];
    readonly sizes: SizesName;
  };
}

export interface ClickhouseAccess {
  readonly url: string;
  readonly username: string;
  readonly passwordFile: string | undefined;
}

const Environment = z.object({
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
  TOOLFABRIC_STATE: z.string().min(1).optional(),
  TOOLFABRIC_ADDRESS: z.string().min(1).optional(),
  TOOLFABRIC_TOKEN: z.string().min(1).optional(),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
  TOOLFABRIC_NATS_URL: z.string().min(1).optional(),
  TOOLFABRIC_NKEY_SEED_FILE: z.string().min(1).optional(),
  TOOLFABRIC_CLICKHOUSE_URL: z.url({ protocol: /^https?$/ }).optional(),
  TOOLFABRIC_CLICKHOUSE_USER: z.string().min(1).default('default'),
  TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE: z.string().min(1).optional(),
  TOOLFABRIC_KINDS: z.string().default('cli,web'),
  TOOLFABRIC_SIZES: z.enum(['laptop', 'cluster']).default('cluster'),
});

/** Places, keys and addresses are `up`'s own; what a person may want to set beside them is passed on. */
const PASSED_ON =
  /^TOOLFABRIC_(TENANCY|POLICY_DIR|ENVIRONMENT|OIDC_FILE|QUOTAS|APPROVAL_WEBHOOK_\w+|SLOTS|PROGRAMS|TOOLCHAIN_DIRS|COMMAND_\w+|WORKSPACE_BYTES|GIT_REMOTES|WEB_\w+|SEARCH_\w+|EGRESS_(EXTRA_CA_FILE|PERMITS|CONNECTIONS|IDLE_MS|CONNECTION_MS)|CGROUP|CREDENTIAL_\w+|OTLP_\w+|TRACE_(SAMPLING|RETENTION_DAYS|TENANT_DAYS|MEMORY_MB|NICENESS)|ARTIFACTS_(TENANT|MAX|LOG|SWEEP)_\w+)$/;

const passedOn = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => PASSED_ON.test(entry[0]) && entry[1] !== undefined,
    ),
  );

const clickhouseOf = (env: z.output<typeof Environment>): ClickhouseAccess | undefined =>
  env.TOOLFABRIC_CLICKHOUSE_URL === undefined
    ? undefined
    : {
        url: env.TOOLFABRIC_CLICKHOUSE_URL,
        username: env.TOOLFABRIC_CLICKHOUSE_USER,
        passwordFile: env.TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE,
      };

/** The only reader of the environment here. Throws when a variable has a value that it cannot have. */
export const readConfig = (env: NodeJS.ProcessEnv = process.env): Config => {
  const parsed = Environment.parse(env);
  return {
    path: parsed.PATH,
    stateDir: parsed.TOOLFABRIC_STATE,
    address: parsed.TOOLFABRIC_ADDRESS,
    token: parsed.TOOLFABRIC_TOKEN,
    pace: parsed.TOOLFABRIC_PACE,
    isTest: parsed.TOOLFABRIC_TEST === '1',
    faults: parsed.TOOLFABRIC_FAULTS,
    passedOn: passedOn(env),
    clickhouse: clickhouseOf(parsed),
    provision: {
      servers: parsed.TOOLFABRIC_NATS_URL,
      nkeySeedFile: parsed.TOOLFABRIC_NKEY_SEED_FILE,
      kinds: z.array(Token).min(1).parse(parsed.TOOLFABRIC_KINDS.split(',')),
      sizes: parsed.TOOLFABRIC_SIZES,
    },
  };
};
