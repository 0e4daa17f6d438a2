import { VaultKey } from '@toolfabric/contract';
import { FabricError, sealToKey } from '@toolfabric/kernel';
import {
  type CredentialServiceClient,
  credentialDraftToWire,
  credentialFromWire,
  credentialPageFromWire,
  credentialTestFromWire,
  type wireCredential,
} from '@toolfabric/proto';
import type { FabricClient, NewCredential, RequestOptions } from './client-types.ts';
import { present, type Requester } from './requester.ts';

type CredentialVerbs = Pick<
  FabricClient,
  'addCredential' | 'listCredentials' | 'revokeCredential' | 'testCredential' | 'beginLogin' | 'completeLogin'
>;

const credentialOf = ({ credential }: { credential: wireCredential.Credential | undefined }) =>
  credentialFromWire(present(credential));

const keyOf = ({ key }: { key: wireCredential.VaultKey | undefined }): VaultKey => {
  const read = VaultKey.safeParse(key);
  if (!read.success) throw new FabricError('internal', 'the gateway answered with a key that is none');
  return read.data;
};

export const credentialVerbs = (keeper: CredentialServiceClient, requester: Requester): CredentialVerbs => {
  /** The secret leaves this process as what only the vault can read. */
  const sealed = async ({ secret, ...draft }: NewCredential, options: RequestOptions) => {
    if (secret === undefined) return draft;
    const key = await requester.ask(keeper.getVaultKey.bind(keeper), {}, keyOf, options);
    return { ...draft, sealed: sealToKey(JSON.stringify(secret), key, draft.handle) };
  };
  return {
    addCredential: async (credential, options = {}) => {
      const draft = credentialDraftToWire(await sealed(credential, options));
      return requester.ask(keeper.addCredential.bind(keeper), draft, credentialOf, options);
    },
    listCredentials: ({ after, limit } = {}, options = {}) =>
      requester.ask(keeper.listCredentials.bind(keeper), { after, limit }, credentialPageFromWire, options),
    revokeCredential: (handle, options = {}) =>
      requester.ask(keeper.revokeCredential.bind(keeper), { handle }, credentialOf, options),
    testCredential: (handle, options = {}) =>
      requester.askOnce(keeper.testCredential.bind(keeper), { handle }, credentialTestFromWire, options),
    beginLogin: (handle, redirectUri, options = {}) =>
      requester.askOnce(
        keeper.beginLogin.bind(keeper),
        { handle, redirectUri },
        ({ address, state, expiresAtMs }) => ({ address, state, expiresAt: expiresAtMs }),
        options,
      ),
    completeLogin: (handle, { state, address }, options = {}) =>
      requester.askOnce(keeper.completeLogin.bind(keeper), { handle, state, address }, credentialOf, options),
  };
};
