import type { CallRecord, EgressRevocation } from '@toolfabric/contract';
import { changeRecord, floorKey, planFence } from '@toolfabric/ledger';
import type { RouterContext } from '../router-context.ts';
import { readDoors } from './watch-doors.ts';

const revocationOf = ({ actor, callId, epoch }: CallRecord): EgressRevocation => ({
  tenant: actor.tenant,
  callId,
  epoch,
});

/** The floor of the call, at its present epoch or above: permits up to there are void from now on. */
const raiseFloor = async (ctx: RouterContext, { actor, callId, epoch }: CallRecord): Promise<void> => {
  await changeRecord(
    ctx.ports.doors.floors,
    floorKey(actor.tenant, callId),
    (floor) => (floor !== undefined && floor.epoch >= epoch ? undefined : { callId, epoch }),
    { clock: ctx.clock },
  );
};

/** The permits of an execution that is over end with it: the floor is stored, and whoever holds one is told. */
export const revokeEgress = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  if (call.egress === undefined) return;
  await raiseFloor(ctx, call);
  ctx.ports.doors.ring(revocationOf(call));
};

/**
 * Before the next attempt of a call is sent out: nothing of the attempts before it goes out any more once their egress
 * hears of it, and they open no permit. No fence: nobody is waited for.
 */
export const revokeEarlier = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  if (call.epoch > 1) await revokeEgress(ctx, { ...call, epoch: call.epoch - 1 });
};

/**
 * Protocol 7 (b): true when nothing of the present epoch can go out any more. The floor is stored first, so that an egress
 * that begins to live later finds it; then every living egress of the kind must answer that it has closed everything.
 * One that died, or does not answer, leaves it open: then absence proves nothing.
 */
export const fenceCall = async (ctx: RouterContext, call: CallRecord): Promise<boolean> => {
  const { doors } = ctx.ports;
  const revocation = revocationOf(call);
  await raiseFloor(ctx, call);
  const lives = await readDoors(doors.lives);
  const { ask, lost } = planFence(
    lives.map(({ value }) => value),
    call,
  );
  if (lost.length > 0) {
    ctx.log.warn('egress.fence_open', { callId: call.callId, lost: lost.length });
    return false;
  }
  const closed = await Promise.all(ask.map((one) => doors.close(one, revocation, ctx.pace.deadAfterMs)));
  return closed.every(Boolean);
};
