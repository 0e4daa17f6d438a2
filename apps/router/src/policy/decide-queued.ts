import type { CallRecord, DecisionSummary } from '@toolfabric/contract';
import { asWidened } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { taskKey } from '@toolfabric/ledger';
import { decideAgain } from '../approvals/decide-again.ts';
import { factsFor } from '../check-call.ts';
import type { RouterServices } from '../router-services.ts';

/** What the policy of now says of a call whose message waits. */
export type DecidedQueued =
  | { readonly verdict: 'same' }
  | { readonly verdict: 'allow'; readonly decision: DecisionSummary }
  /** `approval_changed` where another yes is needed than was given: proposed again, a person is asked. */
  | { readonly verdict: 'deny'; readonly error: 'denied_by_policy' | 'approval_changed'; readonly reason: string };

const refused = (thrown: unknown): DecidedQueued => {
  if (!(thrown instanceof FabricError) || thrown.type === 'unavailable' || thrown.type === 'internal') throw thrown;
  return { verdict: 'deny', error: 'denied_by_policy', reason: thrown.message };
};

const decide = async (services: RouterServices, call: CallRecord): Promise<DecidedQueued> => {
  const { ctx, registry, policy } = services;
  const { actor, args } = call;
  const stored = (await ctx.ports.tasks.get(taskKey(actor.tenant, call.taskId)))?.value;
  const task = stored && asWidened(stored);
  const tool = registry.records.find(({ digest }) => digest === call.tool.digest);
  // Accepted while both were there: what has become of them since is no matter of the policy.
  if (task === undefined || tool === undefined) return { verdict: 'same' };
  const facts = await factsFor(services, { request: call, task, tool, args });
  const answer = policy.decide({ actor, task, tool, args, facts });
  if (answer.verdict === 'allow') return { verdict: 'allow', decision: answer.decision };
  const changed = 'the policy changed while the call waited';
  if (answer.verdict === 'deny')
    return { verdict: 'deny', error: 'denied_by_policy', reason: `${changed}: ${answer.reason} (rule ${answer.rule})` };
  const asks = `${answer.reason} (rule ${answer.decision.rule})`;
  // Protocol 2: what is queued never waits for a person again.
  return { verdict: 'deny', error: 'approval_changed', reason: `${changed}, and a person must allow it now: ${asks}` };
};

/** A call that a person let through keeps its yes only where the policy of now asks for exactly the same. */
const decideApproved = async (services: RouterServices, call: CallRecord): Promise<DecidedQueued> => {
  const again = await decideAgain(services, call);
  if (again.verdict === 'same')
    return { verdict: 'allow', decision: { ...call.decision, policyVersion: again.policyVersion } };
  if (again.verdict === 'task_ended' || again.verdict === 'over_budget') return { verdict: 'same' };
  const reason = 'the policy changed, so that what a person allowed holds no more';
  return { verdict: 'deny', error: 'approval_changed', reason };
};

/** Protocol 6, last row. What the fabric does for itself is not decided by policy. Throws `unavailable`. */
export const decideQueued = async (services: RouterServices, call: CallRecord): Promise<DecidedQueued> => {
  if (call.watermark === undefined) return { verdict: 'same' };
  return (call.approvalId === undefined ? decide : decideApproved)(services, call).catch(refused);
};
