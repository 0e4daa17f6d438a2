import type { CallRecord, DecisionSummary, ToolContract } from '@toolfabric/contract';
import { asWidened, budgetError, wallDenial, wallEnd } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { approvalKey, taskKey } from '@toolfabric/ledger';
import { factsFor } from '../check-call.ts';
import type { RouterServices } from '../router-services.ts';
import { boundFiles, isSameFiles } from './bound-files.ts';

/** What the policy of now says of a call that a person has approved. */
export type DecidedAgain =
  /** The same, by this version of the policy; nothing of the task may begin after `until`. */
  | { readonly verdict: 'same'; readonly policyVersion: string; readonly until: number }
  /** FD-5: the clock of the execution stood still while a person was asked, that of the task went on. */
  | { readonly verdict: 'over_budget'; readonly message: string }
  | { readonly verdict: 'changed' }
  | { readonly verdict: 'task_ended' };

/** Limits of its own request may have been lower than what the policy says; none may have become lower than they were. */
const keepsLimits = (was: DecisionSummary['limits'], is: DecisionSummary['limits']): boolean =>
  is.timeoutMs >= was.timeoutMs &&
  is.outputBytes >= was.outputBytes &&
  (is.outputTokens ?? Number.POSITIVE_INFINITY) >= (was.outputTokens ?? 0);

const FIELDS = ['rule', 'risk', 'strength', 'resource', 'account'] as const;

const isSame = (was: DecisionSummary, is: DecisionSummary): boolean =>
  FIELDS.every((field) => was[field] === is[field]) && keepsLimits(was.limits, is.limits);

/** What a check refuses by now is changed; an outage says nothing. */
const refused = (thrown: unknown): undefined => {
  if (thrown instanceof FabricError && thrown.type !== 'unavailable' && thrown.type !== 'internal') return undefined;
  throw thrown;
};

/** The files that the call runs or sends are still those that a person was told of. */
const keepsFiles = async (services: RouterServices, contract: ToolContract, call: CallRecord): Promise<boolean> => {
  if ((contract.governance.executes ?? []).length === 0) return true;
  const now = await boundFiles(services, contract, call).catch(refused);
  const key = approvalKey(call.actor.tenant, call.approvalId ?? '');
  const asked = (await services.ctx.ports.approvals.get(key))?.value;
  return now !== undefined && isSameFiles(asked?.files, now);
};

/**
 * Asked when the yes of a person is about to be used (PO-4): minutes may have passed, with another policy, another
 * version of the tool in use, new taint, or the end of the task.
 */
export const decideAgain = async (services: RouterServices, call: CallRecord): Promise<DecidedAgain> => {
  const { ctx, registry, policy } = services;
  const { actor, args } = call;
  const stored = (await ctx.ports.tasks.get(taskKey(actor.tenant, call.taskId)))?.value;
  if (stored?.state !== 'open') return { verdict: 'task_ended' };
  const task = asWidened(stored);
  const wall = wallDenial(task, ctx.clock.now());
  if (wall !== undefined) return { verdict: 'over_budget', message: budgetError(wall).message };
  const tool = registry.records.find(({ digest }) => digest === call.tool.digest);
  if (tool === undefined || tool.state === 'retired' || tool.state === 'draft') return { verdict: 'changed' };
  const facts = await factsFor(services, { request: call, task, tool, args }).catch(refused);
  if (facts === undefined) return { verdict: 'changed' };
  const answer = policy.decide({ actor, task, tool, args, facts });
  if (answer.verdict !== 'needs_approval' || !isSame(call.decision, answer.decision)) return { verdict: 'changed' };
  if (!(await keepsFiles(services, tool.contract, call))) return { verdict: 'changed' };
  return { verdict: 'same', policyVersion: answer.decision.policyVersion, until: wallEnd(task) };
};
