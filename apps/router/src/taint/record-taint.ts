import type { CallRecord, Outcome, TaintRecord } from '@toolfabric/contract';
import { addTaint, credentialHandles, outsideOrigin } from '@toolfabric/governance';
import { changeRecord, taintKey } from '@toolfabric/ledger';
import { callEvent } from '../call-events.ts';
import type { RouterContext } from '../router-context.ts';

/** Whether somebody's credential was used to read it. An internal call has no contract that could say so. */
const isPrivate = async (ctx: RouterContext, call: CallRecord): Promise<boolean> =>
  call.tool.digest !== '' && credentialHandles(await ctx.contractOf(call.tool)).length > 0;

/**
 * Stored before an untrusted result from outside is released (design §8), for its agent, its user and its task: from
 * then on nobody can act on it without the mark. Throws what the stores throw; then nothing is released.
 */
export const recordTaint = async (
  ctx: RouterContext,
  call: CallRecord,
  outcome: Pick<Outcome, 'trust' | 'origin'>,
): Promise<void> => {
  const origin = outsideOrigin(outcome, call.tool.name, call.workspace?.id);
  if (origin === undefined) return;
  const at = ctx.clock.now();
  const mark = { origin, callId: call.callId, at, ...((await isPrivate(ctx, call)) ? { private: true } : {}) };
  const change = await changeRecord<TaintRecord>(
    ctx.ports.taints,
    taintKey(call.actor),
    (record) => addTaint(record, mark, call.taskId),
    { clock: ctx.clock },
  );
  if (change.done) ctx.ports.events.emit(callEvent(ctx, call, 'taint.recorded', 'taint', { origin }));
};
