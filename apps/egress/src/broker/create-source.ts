import type { CredentialHandle, CredentialRecord, EgressRule } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { CredentialSource, CredentialUse } from '../credential-source.ts';
import { NoToken } from '../oauth/oauth-failure.ts';
import { Refused } from '../refuse.ts';
import { fitsAudience } from './fits-audience.ts';
import type { Owner } from './kept-credentials.ts';
import { showSecret } from './show-secret.ts';
import { checkUsable, type SecretPorts, secretOf } from './usable-secret.ts';
import type { Uses } from './uses.ts';

/** Never over plain HTTP, but for a host inside that the rule names by its addresses. */
const isSafe = ({ scheme, addresses }: EgressRule): boolean => scheme !== 'http' || addresses !== undefined;

const found = async ({ kept }: SecretPorts, owner: Owner, handle: CredentialHandle): Promise<CredentialRecord> => {
  const record = await kept.find(owner, handle);
  if (record === undefined) throw new Refused('credential_unavailable');
  return record;
};

const check = ({ audience }: CredentialRecord, rule: EgressRule, { host, path }: CredentialUse): void => {
  if (!isSafe(rule) || !fitsAudience(audience, host, path)) throw new Refused('credential_unavailable');
};

const isInternal = (thrown: unknown) => thrown instanceof FabricError && thrown.type === 'internal';

const refusalOf = (thrown: unknown): Refused => {
  if (thrown instanceof Refused) return thrown;
  // `internal`: the vault has something there that none of its keys opens.
  const isLasting = thrown instanceof NoToken ? thrown.why !== 'unavailable' : isInternal(thrown);
  return new Refused(isLasting ? 'credential_unavailable' : 'credential_not_ready');
};

/** Credentials of the actor of a permit, each read anew for each request, and shown within its audience alone. */
export const createSource = (ports: SecretPorts, uses: Uses): CredentialSource => ({
  headersFor: async ({ actor }, rule, use, signal) => {
    const { credential } = rule;
    if (credential === undefined) return { headers: {}, secrets: [] };
    const owner = { tenant: actor.tenant, user: actor.user };
    try {
      const record = await found(ports, owner, credential);
      check(record, rule, use);
      // Not noted as in use: the watch would close the connection before its request is refused.
      checkUsable(record, ports.clock.now());
      uses.note(owner, record);
      const shown = showSecret(record.inject, await secretOf(ports, record, signal));
      return { ...shown, as: { account: record.account, version: record.version } };
    } catch (thrown) {
      throw refusalOf(thrown);
    }
  },
});
