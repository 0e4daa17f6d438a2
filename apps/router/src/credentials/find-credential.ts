import { CredentialRecord } from '@toolfabric/contract';
import { credentialKey } from '@toolfabric/kernel';
import type { Store } from '@toolfabric/ports';
import type { FindCredential } from './acting-account.ts';

export type CredentialRecords = Pick<Store<CredentialRecord>, 'get'>;

/** Reads what the keeper of credentials has written. A record of somebody else that stands there is none. */
export const findCredential =
  (records: CredentialRecords): FindCredential =>
  async (actor, handle) => {
    const found = (await records.get(credentialKey(actor, handle)))?.value;
    const owner = handle.startsWith('user:') ? actor.user : undefined;
    const isTheirs = found?.handle === handle && found.tenant === actor.tenant && found.user === owner;
    return isTheirs ? found : undefined;
  };

/** As the bus has them. */
export const storedCredentials = (bus: {
  credentials(schema: typeof CredentialRecord): CredentialRecords;
}): FindCredential => findCredential(bus.credentials(CredentialRecord));
