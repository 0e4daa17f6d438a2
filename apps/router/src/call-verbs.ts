import type { Actor, CallView } from '@toolfabric/contract';
import { CallId } from '@toolfabric/contract';
import { checkCallScope } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { stopCall } from './cancel-call.ts';
import { readCall } from './change-call.ts';
import { readClaim } from './claims.ts';
import type { StoredCall } from './router-context.ts';
import type { RouterServices } from './router-services.ts';
import { viewCall } from './view-call.ts';

const readOwnCall = async (services: RouterServices, actor: Actor, callId: string): Promise<StoredCall> => {
  const call = CallId.safeParse(callId).success ? await readCall(services.ctx, actor.tenant, callId) : undefined;
  checkCallScope(call?.value, actor);
  if (!call) throw new FabricError('not_found', 'there is no such call');
  return call;
};

/** Reads the call, and the claim when that can tell more. */
export const getCall = async (services: RouterServices, actor: Actor, callId: string): Promise<CallView> => {
  const call = await readOwnCall(services, actor, callId);
  const claim = call.value.state === 'queued' ? await readClaim(services.ctx, call) : undefined;
  return viewCall(call.value, claim);
};

export const cancelCall = async (services: RouterServices, actor: Actor, callId: string): Promise<CallView> => {
  await stopCall(services.ctx, await readOwnCall(services, actor, callId), 'cancelled');
  return getCall(services, actor, callId);
};
