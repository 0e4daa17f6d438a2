import { TaskConstraints } from '@toolfabric/contract';
import { z } from 'zod';

const Expected = {
  verdict: z.enum(['allow', 'needs_approval', 'deny']),
  /** Stable name of the rule; any when left out. */
  rule: z.string().optional(),
  strength: z.enum(['confirm', 'strong']).optional(),
};

/** One case of `*.test.yaml`: a proposal, and what the policies must say of it. */
export const PolicyCase = z.strictObject({
  name: z.string().min(1).max(200),
  actor: z
    .strictObject({ user: z.string().min(1).default('someone'), agent: z.string().min(1).default('agent') })
    .prefault({}),
  /** `name` or `name@version`. */
  tool: z.string(),
  args: z.record(z.string(), z.json()).default({}),
  environment: z.enum(['development', 'production']).default('production'),
  constraints: TaskConstraints.optional(),
  /** The task declared this command. */
  test_command: z.array(z.string()).optional(),
  /** Origins that were read before. */
  taint: z.array(z.string()).default([]),
  roles: z.array(z.string()).default([]),
  ...Expected,
});
export type PolicyCase = z.infer<typeof PolicyCase>;

export const CaseFile = z.strictObject({ cases: z.array(PolicyCase).min(1).max(1_000) });
