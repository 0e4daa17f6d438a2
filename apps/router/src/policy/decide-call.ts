import type { FabricEvent } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { PolicyAnswer, PolicyQuestion } from '@toolfabric/ports';
import type { RouterServices } from '../router-services.ts';

const told = (answer: PolicyAnswer) => ({
  verdict: answer.verdict,
  rule: answer.verdict === 'deny' ? answer.rule : answer.decision.rule,
  strength: answer.verdict === 'needs_approval' ? (answer.decision.strength ?? '') : '',
});

const isSame = (a: PolicyAnswer, b: PolicyAnswer): boolean => {
  const [one, other] = [told(a), told(b)];
  return one.verdict === other.verdict && one.rule === other.rule && one.strength === other.strength;
};

/** What the policies that are only tried would have said, told where it differs. */
const compare = (
  { ctx, policy }: RouterServices,
  question: PolicyQuestion,
  answer: PolicyAnswer,
  callId: string,
): void => {
  const tried = policy.tried(question);
  if (tried === undefined || isSame(answer, tried.answer)) return;
  const { actor, task, tool } = question;
  const [is, would] = [told(answer), told(tried.answer)];
  const event: FabricEvent = {
    id: `${callId}:shadow.${tried.version}`,
    type: 'policy.shadow',
    service: 'router',
    tenant: actor.tenant,
    at: ctx.clock.now(),
    callId,
    taskId: task.taskId,
    actor,
    attributes: {
      ...{ tool: tool.contract.name, version: tool.contract.version },
      ...{ verdict: is.verdict, rule: is.rule, policyVersion: policy.version },
      ...{ shadowVerdict: would.verdict, shadowRule: would.rule, shadowVersion: tried.version },
    },
  };
  ctx.ports.events.emit(event);
};

/**
 * The one decision about a proposal. Throws `denied_by_policy` with the name of the rule, or `policy_unavailable` where
 * the engine could not say: then nothing is allowed.
 */
export const decideCall = (
  services: RouterServices,
  question: PolicyQuestion,
  callId: string,
): Exclude<PolicyAnswer, { verdict: 'deny' }> => {
  const { ctx, policy } = services;
  const answer = policy.decide(question);
  ctx.telemetry.metrics.count('toolfabric_policy_decisions_total', { verdict: answer.verdict });
  ctx.recordDecision({ question, answer, callId });
  setImmediate(() => compare(services, question, answer, callId));
  if (answer.verdict !== 'deny') return answer;
  if (answer.rule === 'engine_error') throw new FabricError('policy_unavailable', answer.reason);
  throw new FabricError('denied_by_policy', `${answer.reason} (rule ${answer.rule})`);
};
