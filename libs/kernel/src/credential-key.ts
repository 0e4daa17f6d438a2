import type { Actor, CredentialHandle } from '@toolfabric/contract';
import { shortHash } from './ids.ts';

type Owner = Pick<Actor, 'tenant' | 'user'>;

/** Below which key the credentials of one user (`user`) or those of their tenant stand. */
export const credentialGroup = ({ tenant, user }: Owner, whose: 'user' | 'tenant'): string =>
  `credential.${tenant}.${whose === 'user' ? `u-${shortHash('credential-user', tenant, user)}` : 'tenant'}`;

/**
 * Where the credential of a handle stands as this actor has it: another tenant's or user's has another key. Users and
 * names are free text and stand there as hashes.
 */
export const credentialKey = (owner: Owner, handle: CredentialHandle): string =>
  `${credentialGroup(owner, handle.startsWith('user:') ? 'user' : 'tenant')}.${shortHash('credential', handle)}`;
