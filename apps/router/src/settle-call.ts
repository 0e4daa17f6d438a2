import { type Outcome, ResultMessage } from '@toolfabric/contract';
import {
  deriveSettlement,
  isAnswered,
  moveClaim,
  parseProbeCallId,
  type Settlement,
  stateOfOutcome,
} from '@toolfabric/ledger';
import type { Delivery } from '@toolfabric/ports';
import { callEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { changeClaim, readClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import { judgeOf } from './judge-output.ts';
import { settleProbe } from './reconcile.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { tryAgain } from './try-again.ts';

/** Rounds of deriving before the rest is left to the next delivery or sweep. */
const MOST_ROUNDS = 6;

const keepLate = async (ctx: RouterContext, call: StoredCall, result: ResultMessage): Promise<void> => {
  const { epoch, outcome } = result;
  if (call.value.late?.some((late) => late.epoch === epoch && late.status === outcome.status)) return;
  await changeCall(ctx, call, { type: 'late', epoch, status: outcome.status });
  const attributes = { lateEpoch: epoch, status: outcome.status, sideEffect: outcome.sideEffect };
  ctx.ports.events.emit(callEvent(ctx, call.value, 'call.late_result', `late.${epoch}`, attributes));
};

type End = Extract<Settlement, { outcome: Outcome }>;

/** One derived end, stored: first the claim where it was given up, then the call. A lost race changes nothing. */
const applyEnd = async (ctx: RouterContext, call: StoredCall, end: End): Promise<StoredCall> => {
  if (end.type === 'resolve') {
    const move = { type: 'resolve', outcome: end.receipt } as const;
    if (!(await changeClaim(ctx, call, (claim) => moveClaim(claim, move))).done) return call;
  }
  return endCall(ctx, call, end.outcome, end.attempt);
};

const isEndedBy = (call: StoredCall, end: End): boolean =>
  call.value.state === stateOfOutcome(end.outcome) && call.value.result?.attempt === end.attempt;

interface Settling {
  readonly result: ResultMessage | undefined;
  /** Whether an end that passes by itself may become another attempt. */
  readonly mayRetry: boolean;
}

/** Derives and applies until nothing is left to apply: each lost race is derived anew from what won it. */
const settle = async (
  ctx: RouterContext,
  call: StoredCall,
  { result, mayRetry }: Settling,
): Promise<StoredCall | 'wait'> => {
  const judge = await judgeOf(ctx, call.value.tool);
  let current = call;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const settlement = deriveSettlement(current.value, await readClaim(ctx, current), result, judge);
    if (settlement.type === 'wait') return 'wait';
    if (settlement.type === 'settled') return current;
    if (settlement.type === 'late') {
      if (result) await keepLate(ctx, current, result);
      return current;
    }
    const again = mayRetry && settlement.type === 'end' ? await tryAgain(ctx, current, settlement) : undefined;
    if (again) return again;
    current = await applyEnd(ctx, current, settlement);
    if (isEndedBy(current, settlement)) return current;
  }
  return 'wait';
};

/** The kind in a result's subject is the account that could publish it: it may settle its own calls and no others. */
export const isOfCall = (delivery: Delivery, result: ResultMessage, call: StoredCall): boolean =>
  delivery.subject.split('.')[1] === call.value.kind && result.tenant === call.value.actor.tenant;

const settleResult = async (ctx: RouterContext, delivery: Delivery, result: ResultMessage): Promise<void> => {
  const call = ctx.recent.get(result.callId)?.call ?? (await readCall(ctx, result.tenant, result.callId));
  if (!call) {
    ctx.log.warn('result.without_call', { callId: result.callId });
    return delivery.ack();
  }
  if (!isOfCall(delivery, result, call)) {
    ctx.log.error('result.of_another_kind', { callId: result.callId, subject: delivery.subject });
    return delivery.ack();
  }
  const after = await settle(ctx, call, { result, mayRetry: true });
  if (after === 'wait') return delivery.nak(ctx.pace.nakDelayMs);
  if (result.by !== 'router') await ctx.homes.follow(after.value, result.by);
  // Late evidence of a call that still goes on is noted, or it is tried again: there is nothing to close.
  if (!isAnswered(after.value.state)) return delivery.ack();
  await closeCall(ctx, after, () => delivery.ack());
};

/** The tenant and the call in a result must be those of its subject `result.<kind>.<tenant>.<callId>.<epoch>`. */
const belongsTo = (result: ResultMessage, subject: string): boolean => {
  const [, , tenant, callId, epoch] = subject.split('.');
  return tenant === result.tenant && callId === result.callId.replace('.', '_') && epoch === String(result.epoch);
};

const parseResult = (delivery: Delivery): ResultMessage | undefined => {
  try {
    const parsed = ResultMessage.safeParse(JSON.parse(Buffer.from(delivery.data).toString('utf8')));
    return parsed.success && belongsTo(parsed.data, delivery.subject) ? parsed.data : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Design §3, row 8: takes in one result message. Never throws; what could not be done now comes again, since the
 * message is acknowledged only after the terminal event is stored (L6 on the router's side).
 */
export const settleDelivery = async (ctx: RouterContext, delivery: Delivery): Promise<void> => {
  try {
    const result = parseResult(delivery);
    if (!result) {
      ctx.log.warn('result.refused', { subject: delivery.subject, sequence: delivery.sequence });
      return delivery.ack();
    }
    const probe = parseProbeCallId(result.callId);
    await (probe ? settleProbe(ctx, delivery, result, probe) : settleResult(ctx, delivery, result));
  } catch (thrown) {
    ctx.telemetry.metrics.count('toolfabric_settle_failures_total', {});
    ctx.log.error('settle.failed', {
      subject: delivery.subject,
      cause: thrown instanceof Error ? thrown.name : 'thrown',
    });
    delivery.nak(ctx.pace.nakDelayMs);
  }
};

/**
 * The same derivation without a result message: from the claim, or from what stands on the result subject.
 *
 * @param mayRetry false where the call is being ended: then what its execution said is its end.
 */
export const settleStored = async (ctx: RouterContext, call: StoredCall, mayRetry = true): Promise<StoredCall> => {
  const { kind, actor, callId, epoch } = call.value;
  const result =
    call.value.claim === 'none' ? await ctx.ports.results.get(kind, actor.tenant, callId, epoch) : undefined;
  const after = await settle(ctx, call, { result, mayRetry });
  if (after === 'wait') return call;
  if (isAnswered(after.value.state)) await closeCall(ctx, after);
  return after;
};
