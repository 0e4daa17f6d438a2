import type { CredentialHandle, CredentialRecord } from '@toolfabric/contract';
import { credentialKey } from '@toolfabric/kernel';

type Owned = Pick<CredentialRecord, 'tenant' | 'user' | 'handle' | 'version'>;

/** Below what all of it stands. */
export const CREDENTIALS = 'credential';

/** Where the record of a credential stands, readable by routers. */
export const recordPlace = ({ tenant, user = '' }: Pick<Owned, 'tenant' | 'user'>, handle: CredentialHandle): string =>
  credentialKey({ tenant, user }, handle);

/** Where the secrets of one version of it stand. */
export const secretsPlace = (record: Owned): string => `${recordPlace(record, record.handle)}.v${record.version}`;

/** Where its login waits for its owner. */
export const loginPlace = (record: Owned): string => `${recordPlace(record, record.handle)}.login`;
