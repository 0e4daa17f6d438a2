import { type Actor, CredentialHandle, type ToolContract } from '@toolfabric/contract';
import { credentialHandles } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';

/** What a call has to know of a credential before it may act with it. Nothing in it is secret. */
export interface ActingCredential {
  /** What a person calls the account that acts. */
  readonly account: string;
  readonly state: 'active' | 'revoked' | 'needs_login';
  /** Milliseconds since the epoch: when it can be used no more, and nothing makes it new. */
  readonly expiresAt?: number | undefined;
}

/** The credential of a handle as this actor has it: never one of another tenant or of another user. */
export type FindCredential = (actor: Actor, handle: CredentialHandle) => Promise<ActingCredential | undefined>;

const missing = (handle: string, why: string) => new FabricError('credential_missing', `${handle} ${why}`);

const checked = (handle: string, found: ActingCredential | undefined, now: number): string => {
  if (found === undefined) throw missing(handle, 'does not exist');
  if (found.state === 'revoked') throw missing(handle, 'was revoked');
  if (found.state === 'needs_login')
    throw new FabricError('login_required', `${handle} needs a new login of its owner`);
  if (found.expiresAt !== undefined && found.expiresAt <= now) throw missing(handle, 'has expired');
  return found.account;
};

const MOST_CHARACTERS = 200;

/**
 * PO-11: whose account a call of this contract acts as, for its decision, its preview and its trace; undefined where it
 * acts with no credential. Throws `credential_missing` or `login_required` for the first that cannot be used.
 */
export const actingAccount = async (
  { find, now }: { readonly find: FindCredential; readonly now: number },
  actor: Actor,
  contract: ToolContract,
): Promise<string | undefined> => {
  const handles = credentialHandles(contract);
  if (handles.length === 0) return undefined;
  const found = await Promise.all(
    handles.map(async (handle) => {
      const read = CredentialHandle.safeParse(handle);
      return read.success ? find(actor, read.data) : undefined;
    }),
  );
  const accounts = handles.map((handle, at) => checked(handle, found[at], now));
  return [...new Set(accounts)].join(', ').slice(0, MOST_CHARACTERS);
};
