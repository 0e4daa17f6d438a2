import { RiskGroup, Token, ToolName } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';

/** No rule may allow these without a person: the most that a policy can say is `ask`. */
export const NEVER_ALLOWED: ReadonlySet<RiskGroup> = new Set(['external_write', 'irreversible', 'privileged']);

const AllowedGroup = RiskGroup.refine((group) => !NEVER_ALLOWED.has(group), {
  error: 'may not be allowed without a person: put it under "ask"',
});

/** The strictest rule that names a risk group wins: deny before ask before allow. What nobody names is denied. */
const Rules = z.strictObject({
  allow: z.array(AllowedGroup).default([]),
  ask: z.array(RiskGroup).default([]),
  deny: z.array(RiskGroup).default([]),
  /** Names of tools, in every version. */
  denyTools: z.array(ToolName).default([]),
  limits: z
    .strictObject({
      /** Milliseconds. */
      timeoutMs: z.int().positive().optional(),
      outputBytes: z.int().positive().optional(),
    })
    .default({}),
});
export type PolicyRules = z.infer<typeof Rules>;

export const RiskPolicyConfig = z.strictObject({
  version: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[\w.-]+$/, 'letters, digits, ".", "_" and "-"'),
  /** For every tenant. */
  default: Rules,
  /** Adds to the default: it can widen what is allowed and asked for, and forbid more; it lifts no prohibition. */
  tenants: z.record(Token, Rules).default({}),
});
export type RiskPolicyConfig = z.infer<typeof RiskPolicyConfig>;
export type RiskPolicyInput = z.input<typeof RiskPolicyConfig>;

export const DEFAULT_RISK_POLICY: RiskPolicyInput = {
  version: 'default-1',
  default: {
    allow: ['read', 'workspace_write'],
    ask: ['external_write', 'irreversible'],
    deny: ['privileged'],
  },
};

/** Throws `invalid_request` that names every place which does not fit. */
export const parseRiskPolicy = (input: unknown): RiskPolicyConfig => {
  const parsed = RiskPolicyConfig.safeParse(input);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'policy'}: ${message}`);
  throw new FabricError('invalid_request', `the policy is not valid: ${places.join('; ')}`);
};
