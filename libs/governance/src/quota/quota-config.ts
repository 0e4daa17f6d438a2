import { Token, ToolName } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';

const count = z.int().min(1).max(1_000_000_000);

/** What one tenant, or one tool for one tenant, may take; what is left out is as the default says. */
const Quota = z.strictObject({
  perSecond: z.number().positive().max(1_000_000).optional(),
  burst: count.optional(),
  /** Calls that wait for a worker or run, in all pools together. */
  inFlight: count.optional(),
});
export type QuotaInput = z.infer<typeof Quota>;

const TenantQuota = z.strictObject({
  ...Quota.shape,
  /** Of `inFlight`, how many in the queue of one pool. */
  queuedPerPool: count.optional(),
  /** Requests that one router answers at once. */
  requests: count.optional(),
  /** Calls that wait for a person, all together and of one actor. */
  approvals: count.optional(),
  approvalsPerActor: count.optional(),
  tools: z.record(ToolName, Quota).optional(),
});

export const QuotaConfig = z.strictObject({
  default: TenantQuota.default({}),
  tenants: z.record(Token, TenantQuota).default({}),
});
export type QuotaConfig = z.infer<typeof QuotaConfig>;

/** The limits of one tenant. */
export interface TenantLimits {
  readonly perSecond: number;
  readonly burst: number;
  readonly inFlight: number;
  readonly queuedPerPool: number;
  readonly requests: number;
  readonly approvals: number;
  readonly approvalsPerActor: number;
  readonly tools: ReadonlyMap<string, QuotaInput>;
}

const GENEROUS = {
  ...{ perSecond: 5_000, burst: 10_000, inFlight: 50_000, queuedPerPool: 20_000, requests: 512 },
  ...{ approvals: 2_000, approvalsPerActor: 500 },
} as const;

/** Throws `invalid_request` that names every place which does not fit. */
export const parseQuotas = (input: unknown): QuotaConfig => {
  const parsed = QuotaConfig.safeParse(input);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'quotas'}: ${message}`);
  throw new FabricError('invalid_request', `the quotas are not valid: ${places.join('; ')}`);
};

/** Of a tenant: its own, else the default of the file, else generous ones. */
export const limitsOf = (config: QuotaConfig, tenant: string): TenantLimits => {
  const { tools: own = {}, ...mine } = config.tenants[tenant] ?? {};
  const { tools: general = {}, ...others } = config.default;
  const tools = new Map(Object.entries(general));
  for (const [tool, quota] of Object.entries(own)) tools.set(tool, { ...tools.get(tool), ...quota });
  return { ...GENEROUS, ...defined(others), ...defined(mine), tools };
};

const defined = <T extends object>(quota: T) =>
  Object.fromEntries(Object.entries(quota).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
