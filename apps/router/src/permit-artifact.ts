import type { ArtifactPermit, Envelope } from '@toolfabric/contract';
import { CallId, type CallRecord, PERMIT_TYPE, type RpcReply, type RpcRequest } from '@toolfabric/contract';
import { checkCallScope } from '@toolfabric/governance';
import { artifactIdFor, FabricError, LOG_NAME } from '@toolfabric/kernel';
import { readCall } from './change-call.ts';
import type { RouterContext } from './router-context.ts';
import type { RouterServices } from './router-services.ts';

/** Milliseconds: a permit of the front door is for one request, which may be a long download. */
const FRONT_MS = 10 * 60_000;

export const signPermit = (ctx: RouterContext, permit: ArtifactPermit): Envelope =>
  ctx.signer.sign(PERMIT_TYPE, JSON.stringify(permit));

interface Named {
  readonly artifactId: string;
  readonly attempt?: number;
}

/** The log of the present epoch of a call that the actor owns. */
const logOf = async (services: RouterServices, actor: CallRecord['actor'], callId: string): Promise<Named> => {
  const call = CallId.safeParse(callId).success ? await readCall(services.ctx, actor.tenant, callId) : undefined;
  checkCallScope(call?.value, actor);
  if (!call) throw new FabricError('not_found', 'there is no such call');
  const { epoch } = call.value;
  return { artifactId: artifactIdFor(actor.tenant, callId, epoch, LOG_NAME), attempt: epoch };
};

/** Says who asks; the store, which knows the owner, decides at each read whether that actor may (RS-4). */
export const permitArtifact = async (
  services: RouterServices,
  { actor, action, artifactId, callId }: RpcRequest<'permitArtifact'>,
): Promise<RpcReply<'permitArtifact'>> => {
  const { ctx } = services;
  const expires = ctx.clock.now() + FRONT_MS;
  if (action === 'list') return { permit: signPermit(ctx, { action, actor, expires }) };
  const ofCall = () => (callId === undefined ? undefined : logOf(services, actor, callId));
  const named: Named | undefined = artifactId === undefined ? await ofCall() : { artifactId };
  if (named === undefined) throw new FabricError('invalid_request', 'name an artifact or a call');
  return { permit: signPermit(ctx, { action, actor, artifactId: named.artifactId, expires }), ...named };
};
