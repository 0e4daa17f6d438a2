import {
  type CallRecord,
  EGRESS_PERMIT_TYPE,
  type EgressPermit,
  type EgressRule,
  type Envelope,
  type ToolContract,
} from '@toolfabric/contract';
import { egressRulesOf, readingRules } from '@toolfabric/governance';
import type { RouterContext } from '../router-context.ts';

/** One execution: a call in its epoch, or a question about it. */
type Execution = Pick<CallRecord, 'callId' | 'epoch' | 'deadline'>;

/**
 * The leave to go out that travels with a work message: what the contract and the arguments name, without the hosts that
 * the task forbids. Nothing where that is nothing: then the execution has no way out.
 *
 * @param asks the execution is a question about another one: whatever it may reach, it may only read there.
 */
export const egressPermit = (
  ctx: RouterContext,
  call: CallRecord,
  contract: ToolContract,
  { callId, epoch, deadline }: Execution,
  asks = false,
): { egress?: Envelope } => {
  const block = contract.execution.egress;
  if (block === undefined || call.egress === undefined) return {};
  const named = egressRulesOf(contract, call.args);
  const rules: readonly EgressRule[] = asks ? readingRules(named) : named;
  if (rules.length === 0) return {};
  const { actor, taskId, kind } = call;
  const { except } = call.egress;
  const permit: EgressPermit = {
    kind,
    actor,
    taskId,
    callId,
    epoch,
    rules: [...rules],
    ...(except === undefined ? {} : { except }),
    maxBytes: block.max_bytes,
    maxConnections: block.max_connections,
    expires: deadline,
  };
  return { egress: ctx.signer.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permit)) };
};
