import { type Claim, OPEN_SHARDS, type OpenEntry, type OperationRecord } from '@toolfabric/contract';
import { isSameActor } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import {
  callKey,
  changeRecord,
  createRecord,
  errorOutcome,
  isAnswered,
  isFinal,
  moveClaim,
  openKey,
  openPrefix,
  operationAfter,
  planSweep,
  type SweepAction,
  unknownOutcome,
} from '@toolfabric/ledger';
import type { Versioned } from '@toolfabric/ports';
import { abandonedCall } from './abandoned-call.ts';
import { checkApproval } from './approvals/check-approval.ts';
import { askProbe } from './ask-probe.ts';
import { callEvent } from './call-events.ts';
import { stopCall } from './cancel-call.ts';
import { changeCall, readCall } from './change-call.ts';
import { changeClaim, readClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import { dispatchCall, publishWork } from './dispatch.ts';
import { decideWaiting, isOvertaken } from './policy/decide-waiting.ts';
import { requeue } from './reconcile.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { settleStored } from './settle-call.ts';
import { isPinLost } from './task-home.ts';
import { isWithdrawn } from './withdrawn.ts';
import { subjectOf } from './work-message.ts';

type Opened = Versioned<OpenEntry>;

/** What was decided about a claim counts only while it still is the one that was seen. */
const isAsSeen = (claim: Claim | undefined, seen: Claim | undefined): boolean =>
  claim?.state === seen?.state && claim?.nonce === seen?.nonce && claim?.epoch === seen?.epoch;

/** Raises the epoch of an execution that never started, then publishes it. */
const release = async (ctx: RouterContext, call: StoredCall, seen: Claim | undefined): Promise<void> => {
  const change = await changeClaim(ctx, call, (claim) =>
    isAsSeen(claim, seen) ? moveClaim(claim, { type: 'release' }) : undefined,
  );
  if (change.done) await requeue(ctx, call, change.value.epoch);
};

/** The last epoch went the way of the others. A worker that took it since then goes on. */
const giveUp = async (ctx: RouterContext, call: StoredCall, seen: Claim | undefined): Promise<void> => {
  if (call.value.claim === 'none') return void (await stopCall(ctx, call, 'dead_letter'));
  const { epoch } = call.value;
  const change = await changeClaim(ctx, call, (claim) =>
    isAsSeen(claim, seen) ? moveClaim(claim, { type: 'cancel', epoch, reason: 'dead_letter' }) : undefined,
  );
  if (change.done) await settleStored(ctx, call);
};

const orphan = async (ctx: RouterContext, call: StoredCall, seen: Claim | undefined): Promise<void> => {
  const change = await changeClaim(ctx, call, (claim) =>
    claim?.nonce === seen?.nonce ? moveClaim(claim, { type: 'orphan' }) : undefined,
  );
  if (!change.done) return;
  const { incarnation, epoch } = change.value;
  ctx.ports.events.emit(callEvent(ctx, call.value, 'call.orphaned', `orphaned.${epoch}`, { incarnation }));
  await settleStored(ctx, call);
};

/** Publishes the epoch that the claim stands at and remembers where in the stream it is. */
const publish = async (
  ctx: RouterContext,
  entry: Opened,
  call: StoredCall,
  claim: Claim | undefined,
): Promise<void> => {
  if (claim !== undefined && claim.epoch > call.value.epoch) return void (await requeue(ctx, call, claim.epoch));
  const isFirst = claim === undefined && entry.value.sent === undefined;
  if (isFirst && (await isWithdrawn(ctx, call.value))) return void (await stopCall(ctx, call, 'cancelled'));
  const known = ctx.recent.get(call.value.callId)?.sent;
  const isKnown = known?.epoch === call.value.epoch && known.pin === call.value.pin;
  const sent = isKnown ? known : await publishWork(ctx, call);
  if (!sent) return;
  await changeRecord(
    ctx.ports.open,
    openKey(entry.value.actor.tenant, entry.value.callId),
    (open) => open && { ...open, sent },
    { clock: ctx.clock, believed: entry },
  ).then((change) => {
    const recent = ctx.recent.get(call.value.callId);
    if (change.done && recent) ctx.recent.set(call.value.callId, { ...recent, openRevision: change.revision });
  });
};

/**
 * The slot's holder is gone. Taken away first, so that nothing stays where nobody may ever look; then the same epoch
 * goes to anybody. Who had the message already and comes back finds the claim of the other, or takes it first: an
 * epoch is taken once (protocol 5).
 */
const unpin = async (ctx: RouterContext, entry: Opened, call: StoredCall, claim: Claim | undefined): Promise<void> => {
  const { pin, kind } = call.value;
  const { sent } = entry.value;
  if (pin === undefined || sent === undefined) return;
  await ctx.ports.work.remove(kind, sent.sequence, subjectOf(call.value));
  ctx.faults.at('router.after-unpin');
  const free = await changeCall(ctx, call, { type: 'unpin', pin });
  if (free.done) await publish(ctx, entry, free, claim);
};

/** The first call ended without an effect, or is gone: its operation may be taken over (protocol 4). */
const freeAfter = async (
  ctx: RouterContext,
  operation: string,
  holder: OperationRecord,
  first: StoredCall | undefined,
) => {
  if (first && (!isAnswered(first.value.state) || operationAfter(first.value) !== 'free')) return false;
  const change = await changeRecord(
    ctx.ports.operations,
    operation,
    (op) => (op?.callId === holder.callId && op.state === 'held' ? { ...op, state: 'free' as const } : undefined),
    { clock: ctx.clock },
  );
  return change.done || change.current?.value.state === 'free';
};

/** A joined call ends as the first one did, or goes on itself when the operation became free. */
const checkOperation = async (ctx: RouterContext, call: StoredCall): Promise<void> => {
  const { operation, actor, deadline } = call.value;
  if (operation === undefined) return;
  const op = (await ctx.ports.operations.get(operation))?.value;
  const first = op && op.state !== 'free' ? await readCall(ctx, op.tenant, op.callId) : undefined;
  if (op === undefined || op.state === 'free' || (await freeAfter(ctx, operation, op, first))) {
    await dispatchCall(ctx, call);
    return;
  }
  const end = first?.value;
  if (end?.result && isFinal(end.state)) {
    // A recorded result goes only to whoever may read that call (protocol 4).
    if (!isSameActor(end.actor, actor)) return closeCall(ctx, await endCall(ctx, call, errorOutcome('conflict'), 0));
    if (!(await ctx.isStillAllowed(call.value))) {
      const denied = { ...errorOutcome('denied_by_policy'), status: 'denied' as const };
      return closeCall(ctx, await endCall(ctx, call, denied, 0));
    }
    const { callId, tool, decision, attempt, status, ...outcome } = end.result;
    if (status === 'needs_approval') return;
    await closeCall(ctx, await endCall(ctx, call, { ...outcome, status }, attempt));
    return;
  }
  if (ctx.clock.now() > deadline) await stopCall(ctx, call, 'expired');
};

const abandon = async (ctx: RouterContext, entry: Opened): Promise<void> => {
  const { actor, callId } = entry.value;
  const record = abandonedCall(ctx, entry.value);
  const change = await createRecord(ctx.ports.calls, callKey(actor.tenant, callId), record, { clock: ctx.clock });
  if (change.done) await closeCall(ctx, change);
};

/** When the call has moved on in between, it is not left: the next sweep looks again. */
const leaveToPerson = async (ctx: RouterContext, call: StoredCall): Promise<void> => {
  if (call.value.reconcile === undefined || call.value.left) return closeCall(ctx, call);
  const left = await changeCall(ctx, call, { type: 'leave' });
  if (left.done) await closeCall(ctx, left);
};

const carryOut = async (
  ctx: RouterContext,
  action: SweepAction,
  entry: Opened,
  call: StoredCall,
  claim: Claim | undefined,
): Promise<void> => {
  switch (action) {
    case 'close':
      return closeCall(ctx, call);
    case 'leave_to_person':
      return leaveToPerson(ctx, call);
    case 'resume':
      return void (await dispatchCall(ctx, call));
    case 'check_approval':
      return checkApproval(ctx, call);
    case 'check_operation':
      return checkOperation(ctx, call);
    case 'publish':
      return publish(ctx, entry, call, claim);
    case 'decide_again':
      return decideWaiting(ctx, entry, call);
    case 'unpin':
      return unpin(ctx, entry, call, claim);
    case 'settle':
      return void (await settleStored(ctx, call));
    case 'expire':
      return void (await stopCall(ctx, call, 'expired'));
    case 'dead_letter':
      return giveUp(ctx, call, claim);
    case 'release':
      return release(ctx, call, claim);
    case 'orphan':
      return orphan(ctx, call, claim);
    case 'probe':
      return askProbe(ctx, call);
    default:
      return;
  }
};

const unreadable = (thrown: unknown): 'unreadable' => {
  if (thrown instanceof FabricError) return 'unreadable';
  throw thrown;
};

/** A claim that nobody can read tells nothing for ever: past its deadline the call is unknown, and a person must say. */
const giveUpUnreadable = async (ctx: RouterContext, call: StoredCall): Promise<void> => {
  if (ctx.clock.now() <= call.value.deadline) return;
  ctx.log.error('claim.unreadable', { callId: call.value.callId });
  const outcome = unknownOutcome('The record of the execution cannot be read; whether it happened is not known.');
  const ended = call.value.state === 'unknown' ? call : await endCall(ctx, call, outcome, call.value.epoch);
  await leaveToPerson(ctx, ended);
};

/** What the end of its worker meant for a call, in the trace of that call: once a claim, by its id. */
const tellDead = (ctx: RouterContext, { value: call }: StoredCall, claim: Claim, action: SweepAction): void => {
  if (action !== 'release' && action !== 'orphan' && action !== 'dead_letter') return;
  const { incarnation, epoch, state } = claim;
  const attributes = { kind: call.kind, incarnation, epoch, claim: state };
  ctx.ports.events.emit(callEvent(ctx, call, 'worker.dead', `dead.${epoch}`, attributes));
};

/**
 * The facts of one open call, read in the order that makes them safe. A claim is stored before its message is
 * acknowledged, so that a claim which is read after the message was seen to be gone tells who took it.
 */
const sweepEntry = async (ctx: RouterContext, entry: Opened): Promise<void> => {
  const { actor, callId, sent } = entry.value;
  const call = await readCall(ctx, actor.tenant, callId);
  const queued = call?.value.state === 'queued' || call?.value.state === 'unknown';
  const workGone = queued && sent && call ? !(await ctx.ports.work.has(call.value.kind, sent.sequence)) : undefined;
  const claim = queued && call ? await readClaim(ctx, call).catch(unreadable) : undefined;
  if (claim === 'unreadable') return call && giveUpUnreadable(ctx, call);
  const holderDead =
    claim !== undefined && claim.incarnation !== '' && (await ctx.isDead(call?.value.kind ?? '', claim.incarnation));
  const action = planSweep({
    open: entry.value,
    call: call?.value,
    claim,
    holderDead,
    workGone,
    policyMoved: isOvertaken(ctx, call?.value),
    pinLost: queued && call !== undefined && (await isPinLost(ctx, call.value)),
    now: ctx.clock.now(),
    graceMs: ctx.pace.openGraceMs,
  });
  if (action === 'abandon') return abandon(ctx, entry);
  if (call && claim && holderDead) tellDead(ctx, call, claim, action);
  if (call) await carryOut(ctx, action, entry, call, claim);
};

/** One pass over a shard of OPEN, and how many calls it holds. A fault of one entry leaves the others alone. */
export const sweepShard = async (ctx: RouterContext, shard: number): Promise<number> => {
  const keys = await ctx.ports.open.keys(openPrefix(shard));
  for (const key of keys) {
    if (ctx.isResting(key)) continue;
    try {
      const entry = await ctx.ports.open.get(key);
      if (entry) await sweepEntry(ctx, entry);
    } catch (thrown) {
      ctx.log.warn('sweep.failed', { key, cause: thrown instanceof Error ? thrown.name : 'thrown' });
    }
  }
  return keys.length;
};

export const ALL_SHARDS: readonly number[] = Array.from({ length: OPEN_SHARDS }, (_, shard) => shard);
