import type { CallRecord, DecisionSummary, OpenEntry, ResultMessage } from '@toolfabric/contract';
import { changeRecord, errorOutcome, moveClaim, openKey } from '@toolfabric/ledger';
import type { Versioned } from '@toolfabric/ports';
import { callEvent } from '../call-events.ts';
import { changeCall } from '../change-call.ts';
import { changeClaim } from '../claims.ts';
import { closeCall, endCall } from '../close-call.ts';
import { publishWork } from '../dispatch.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { settleStored } from '../settle-call.ts';
import { subjectOf } from '../work-message.ts';
import type { DecidedQueued } from './decide-queued.ts';

type Opened = Versioned<OpenEntry>;
type Denied = Extract<DecidedQueued, { verdict: 'deny' }>;

/** Decided under a policy that is not the last any more. */
export const isOvertaken = (ctx: RouterContext, call: CallRecord | undefined): boolean =>
  call?.watermark !== undefined && call.watermark < (ctx.policyMark().watermark ?? 0);

/** The limits of its own request may have been lower than what the policy says; they stay. */
const within = (was: DecisionSummary, is: DecisionSummary): DecisionSummary => ({
  ...is,
  limits: { ...is.limits, timeoutMs: Math.min(was.limits.timeoutMs, is.limits.timeoutMs) },
});

/**
 * No worker took it, and none will: then it ends denied, with nothing done (L3). Who took it meanwhile goes on. Where an
 * earlier attempt may still take effect, the claim is given up instead, and the call ends as that tells: unknown.
 */
const deny = async (ctx: RouterContext, call: StoredCall, { error, reason }: Denied): Promise<void> => {
  const { callId, actor, epoch, kind, claim } = call.value;
  const outcome = errorOutcome(error, reason.slice(0, 1_000));
  if (claim === 'none') {
    const message: ResultMessage = { callId, tenant: actor.tenant, epoch, outcome, by: 'router' };
    await ctx.ports.results.createOnce(kind, message);
    return void (await settleStored(ctx, call));
  }
  const change = await changeClaim(ctx, call, (current) =>
    current === undefined || current.state === 'released'
      ? moveClaim(current, { type: 'cancel', epoch, reason: 'cancelled' })
      : undefined,
  );
  if (!change.done) return;
  if (change.value.state !== 'cancelled') return void (await settleStored(ctx, call));
  await closeCall(ctx, await endCall(ctx, call, { ...outcome, status: 'denied' }, 0));
};

/**
 * The policy moved while the message waits: the call is decided again, sent anew under the number of now, and the old
 * message is taken out of the queue. A router that dies in between leaves a record that tells what is missing; a worker
 * that holds the old message already finds the claim of the other, or took it first, as decided before the move.
 */
export const decideWaiting = async (ctx: RouterContext, entry: Opened, call: StoredCall): Promise<void> => {
  const { sent } = entry.value;
  const { watermark } = ctx.policyMark();
  if (sent === undefined || watermark === undefined) return;
  const again = await ctx.decideQueued(call.value);
  const takeOut = () => ctx.ports.work.remove(call.value.kind, sent.sequence, subjectOf(call.value));
  if (again.verdict === 'deny') {
    await deny(ctx, call, again);
    return void (await takeOut());
  }
  const decision = again.verdict === 'allow' ? within(call.value.decision, again.decision) : call.value.decision;
  const decided = await changeCall(ctx, call, { type: 'decide_again', decision, watermark });
  if (!decided.done) return;
  const { rule, policyVersion } = decision;
  ctx.ports.events.emit(
    callEvent(ctx, decided.value, 'call.queued', `decided.${watermark}`, { rule, policyVersion, watermark }),
  );
  const now = await publishWork(ctx, decided);
  await takeOut();
  if (now === undefined) return;
  const { actor, callId } = entry.value;
  await changeRecord(ctx.ports.open, openKey(actor.tenant, callId), (open) => open && { ...open, sent: now }, {
    clock: ctx.clock,
  });
};
