import { contractDigests } from '@toolfabric/catalogue';
import { Actor, CallLimits, RiskGroup, TaintMark, type ToolContract } from '@toolfabric/contract';
import type { PolicyAnswer, PolicyEngine, PolicyQuestion } from '@toolfabric/ports';
import { z } from 'zod';

const Texts = z.array(z.string());

/** As they were, whatever a task may have today: redaction makes texts longer, and bounds change. */
const PastConstraints = z.object({
  writable: Texts.optional(),
  forbiddenHosts: Texts.optional(),
  confirm: Texts.optional(),
  limits: CallLimits.optional(),
});

/** The payload `policy_input` of a past call: all that its decision was made of, redacted. */
export const PolicyInput = z.object({
  verdict: z.enum(['allow', 'needs_approval', 'deny']),
  rule: z.string(),
  policyVersion: z.string(),
  strength: z.string().optional(),
  actor: Actor,
  task: z.object({
    ...{ taskId: z.string(), tenant: z.string(), constraints: PastConstraints.optional() },
    /** Hosts that people had permitted to the task by name: why a send to them was not raised. */
    permittedHosts: Texts.optional(),
  }),
  tool: z.object({ name: z.string(), version: z.string(), digest: z.string() }),
  facts: z.object({
    ...{ hosts: Texts, paths: Texts, writes: Texts, raisedBy: Texts, roles: Texts },
    ...{ resource: z.string().optional(), account: z.string().optional(), confirm: z.boolean().optional() },
    credential: z.enum(['none', 'user', 'tenant', 'shared']),
    environment: z.enum(['development', 'production']),
    taint: z.array(TaintMark),
    risk: RiskGroup,
    requestLimits: CallLimits.optional(),
  }),
  args: z.record(z.string(), z.json()),
});
export type PolicyInput = z.infer<typeof PolicyInput>;

/** What a decision was, or would be. */
export interface Told {
  readonly verdict: PolicyAnswer['verdict'];
  readonly rule: string;
  readonly strength?: string | undefined;
}

export interface Replayed {
  readonly was: Told;
  readonly would: Told;
  /** Whoever asked would have got something else; another rule that says the same is none. */
  readonly flips: boolean;
}

const toldBy = (answer: PolicyAnswer): Told => ({
  verdict: answer.verdict,
  rule: answer.verdict === 'deny' ? answer.rule : answer.decision.rule,
  ...(answer.verdict === 'needs_approval' && answer.decision.strength !== undefined
    ? { strength: answer.decision.strength }
    : {}),
});

/** The question again as it was put; undefined when none of the contracts is the one that it was about. */
export const questionAgain = (input: PolicyInput, contracts: readonly ToolContract[]): PolicyQuestion | undefined => {
  const { name, version, digest } = input.tool;
  const contract = contracts.find((one) => one.name === name && one.version === version);
  if (contract === undefined || contractDigests(contract).digest !== digest) return undefined;
  const { task, actor, args } = input;
  const { resource, account, confirm, requestLimits, ...facts } = input.facts;
  return {
    actor,
    task: {
      ...{ taskId: task.taskId, actor: { ...actor, tenant: task.tenant }, title: '', state: 'open', createdAt: 0 },
      ...(task.constraints === undefined ? {} : { constraints: task.constraints }),
    },
    tool: { contract, state: 'published', ...contractDigests(contract) },
    args,
    facts: {
      ...facts,
      ...(resource === undefined ? {} : { resource }),
      ...(account === undefined ? {} : { account }),
      ...(confirm === undefined ? {} : { confirm }),
      ...(requestLimits === undefined ? {} : { requestLimits }),
    },
  };
};

/** A past decision put to other policies. What was redacted of its arguments is a mark in both. */
export const replayDecision = (
  engine: PolicyEngine,
  input: PolicyInput,
  contracts: readonly ToolContract[],
): Replayed | undefined => {
  const question = questionAgain(input, contracts);
  if (question === undefined) return undefined;
  const would = toldBy(engine.decide(question));
  const { verdict, rule, strength } = input;
  const was: Told = { verdict, rule, ...(strength === undefined ? {} : { strength }) };
  return { was, would, flips: was.verdict !== would.verdict || was.strength !== would.strength };
};
