import type { CallRecord } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { probeCallId, workMessageId } from '@toolfabric/ledger';
import { QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { callEvent } from './call-events.ts';
import { changeCall } from './change-call.ts';
import { readClaim } from './claims.ts';
import { fenceCall } from './egress/fence-call.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { probeMessage, queryMessage } from './work-message.ts';

/** The delay between two questions doubles up to so many times the first one. */
const LONGEST_BACK_OFF = 60;

/** From 0.8 to 1.2, by the call and the number: calls that were lost together are not asked about together. */
const spread = (callId: string, asked: number): number =>
  0.8 + (0.4 * Number.parseInt(sha256Hex(`${callId} ${asked}`).slice(0, 6), 16)) / 0xffffff;

const nextAt = (ctx: RouterContext, callId: string, asked: number): number => {
  const wait = ctx.pace.probeFirstMs * Math.min(2 ** asked, LONGEST_BACK_OFF);
  return ctx.clock.now() + Math.round(wait * spread(callId, asked));
};

/** In the words of another tool where the contract says so, else to the probe of its own. */
const questionOf = async (ctx: RouterContext, stored: StoredCall, call: CallRecord, asked: number) => {
  const contract = await ctx.contractOf(call.tool);
  const query = call.reconcile?.query;
  if (query !== undefined)
    return queryMessage(ctx, call, contract, { ref: query, contract: await ctx.contractOf(query) }, asked);
  const claim = call.state === 'unknown' ? await readClaim(ctx, stored) : undefined;
  return probeMessage(ctx, call, contract, asked, claim?.intent);
};

/** Stored with the question that is sent after it, so that whoever reads the answer knows what it proves. */
const isFenceProven = async (ctx: RouterContext, call: CallRecord): Promise<boolean> => {
  const { state, reconcile, probe, epoch } = call;
  if (state !== 'unknown' || reconcile?.fence !== 'egress') return false;
  if (probe?.fenced?.epoch === epoch) return true;
  const proven = await fenceCall(ctx, call);
  if (proven) ctx.ports.events.emit(callEvent(ctx, call, 'egress.fenced', `fenced.${epoch}`, { epoch }));
  return proven;
};

/**
 * Protocol 7: asks the parent's kind what became of the call. That it was asked is stored first, so that two sweepers
 * ask once; a lost question is asked again after its back-off.
 */
export const askProbe = async (ctx: RouterContext, stored: StoredCall): Promise<void> => {
  const asked = (stored.value.probe?.asked ?? 0) + 1;
  const fenced = await isFenceProven(ctx, stored.value);
  const change = await changeCall(ctx, stored, {
    type: 'probed',
    asked,
    nextAt: nextAt(ctx, stored.value.callId, asked),
    ...(fenced ? { fenced } : {}),
  });
  if (!change.done) return;
  const call = change.value;
  const { subject, data } = await questionOf(ctx, change, call, asked);
  const id = workMessageId(probeCallId(call.callId, asked), 1);
  ctx.telemetry.metrics.count('toolfabric_probes_total', { kind: call.kind });
  ctx.ports.events.emit(callEvent(ctx, call, 'call.probed', `probed.${asked}`, { asked }));
  await ctx.ports.work.publish(call.kind, subject, id, data).catch((thrown: unknown) => {
    if (!(thrown instanceof QueueFull || thrown instanceof StoreUnavailable)) throw thrown;
  });
};

/** Protocol 4: before its first run, when its key may be older than what is remembered. Asked again after the back-off. */
export const askHistory = async (ctx: RouterContext, stored: StoredCall): Promise<StoredCall> => {
  const { probe } = stored.value;
  if (probe === undefined || ctx.clock.now() >= probe.nextAt) await askProbe(ctx, stored);
  return stored;
};
