import { CredentialHandle, type EgressRequestOf, type EgressVerb, KEEP_RIGHT, mayKeep } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { GatewayPorts } from '@toolfabric/ports';
import { type CredentialServiceServer, credentialDraftFromWire, credentialToWire } from '@toolfabric/proto';
import { approverOf } from './approver-of.ts';
import { askEgress } from './ask-egress.ts';
import type { FrontDoor } from './front-door.ts';
import { fromWire, invalidField } from './invalid-request.ts';
import type { RequestContext } from './request-context.ts';

const DEFAULT_LIMIT = 50;

/** Who asks, as their token says, where they may keep this credential; throws `invalid_request` or `forbidden`. */
const keeperOf = ({ identity }: RequestContext, handle: string) => {
  if (!CredentialHandle.safeParse(handle).success)
    throw invalidField('handle', '"user:", "tenant:" or "shared:" and a name');
  const by = approverOf(identity);
  if (!mayKeep(by.rights, handle))
    throw new FabricError('forbidden', `a credential of the tenant needs a token with the right ${KEEP_RIGHT}`);
  return { by, handle };
};

/**
 * Credentials as whoever keeps them sees them. Whose they are is read out of the token, never out of the request; a
 * secret passes through here sealed to the key of the vault, and none comes back.
 */
export const createCredentialService = (
  door: FrontDoor,
  ports: Pick<GatewayPorts, 'askEgress'>,
): CredentialServiceServer => {
  const ask = <V extends EgressVerb>(verb: V, request: EgressRequestOf<V>, context: RequestContext) =>
    askEgress(ports, verb, request, context);
  return {
    getVaultKey: door.unary(async (_request, context) => ({ key: await ask('key', {}, context) })),
    addCredential: door.unary(async (request, context) => {
      const { by } = keeperOf(context, request.handle);
      const draft = fromWire('credential', () => credentialDraftFromWire(request));
      return { credential: credentialToWire(await ask('add', { by, draft }, context)) };
    }),
    listCredentials: door.unary(async ({ after, limit = DEFAULT_LIMIT }, context) => {
      const by = approverOf(context.identity);
      const page = await ask('list', { by, limit, ...(after === undefined ? {} : { after }) }, context);
      return { credentials: page.credentials.map(credentialToWire), next: page.next };
    }),
    revokeCredential: door.unary(async ({ handle }, context) => ({
      credential: credentialToWire(await ask('revoke', keeperOf(context, handle), context)),
    })),
    testCredential: door.unary(async ({ handle }, context) => {
      const { credential, status, refusal } = await ask('test', keeperOf(context, handle), context);
      return { credential: credentialToWire(credential), status, refusal };
    }),
    beginLogin: door.unary(async ({ handle, redirectUri }, context) => {
      const begun = await ask('beginLogin', { ...keeperOf(context, handle), redirectUri }, context);
      return { address: begun.address, state: begun.state, expiresAtMs: begun.expiresAt };
    }),
    completeLogin: door.unary(async ({ handle, state, address }, context) => {
      const completed = await ask('completeLogin', { ...keeperOf(context, handle), state, address }, context);
      return { credential: credentialToWire(completed) };
    }),
  };
};
