import type { Claim } from '@toolfabric/contract';
import { type Change, changeRecord, claimKey } from '@toolfabric/ledger';
import type { RouterContext, StoredCall } from './router-context.ts';

/** The claim of a call as it stands; a claimless call has none. */
export const readClaim = async (ctx: RouterContext, call: StoredCall): Promise<Claim | undefined> => {
  const { kind, actor, callId, claim } = call.value;
  if (claim === 'none') return undefined;
  return (await ctx.ports.claims(kind).get(claimKey(kind, actor.tenant, callId)))?.value;
};

/** One of the router's moves of protocol 5, by compare-and-set. */
export const changeClaim = (
  ctx: RouterContext,
  call: StoredCall,
  move: (claim: Claim | undefined) => Claim | undefined,
): Promise<Change<Claim>> => {
  const { kind, actor, callId } = call.value;
  return changeRecord(ctx.ports.claims(kind), claimKey(kind, actor.tenant, callId), move, { clock: ctx.clock });
};
