import type { CallRecord } from '@toolfabric/contract';
import { asWidened } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { taskKey } from '@toolfabric/ledger';
import { factsFor } from './check-call.ts';
import type { RouterServices } from './router-services.ts';

/** An outage says nothing; what a check refuses by now is not allowed any more. */
const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof FabricError && thrown.type !== 'unavailable' && thrown.type !== 'internal';

/**
 * Whether the policy of now still lets this actor do it: asked before what another call brought forth is handed out
 * (protocol 4), which may be long after its own decision. Nothing is run by a yes.
 */
export const isStillAllowed = async (services: RouterServices, call: CallRecord): Promise<boolean> => {
  const { ctx, registry, policy } = services;
  if (call.decision.policyVersion === policy.version) return true;
  const { actor, args, taskId, tool: ref } = call;
  const stored = (await ctx.ports.tasks.get(taskKey(actor.tenant, taskId)))?.value;
  const task = stored && asWidened(stored);
  const tool = registry.records.find(({ digest }) => digest === ref.digest);
  if (task === undefined || tool === undefined) return false;
  try {
    // As whom it acted is a fact of then: the credential may be gone, what it brought forth is not.
    const { account } = call.decision;
    const facts = await factsFor(services, { request: call, task, tool, args, account });
    return policy.decide({ actor, task, tool, args, facts }).verdict !== 'deny';
  } catch (thrown) {
    if (isRefusal(thrown)) return false;
    throw thrown;
  }
};
