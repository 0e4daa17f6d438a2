import type { CredentialRecord } from '@toolfabric/contract';
import type { Clock, Faults, Logger } from '@toolfabric/kernel';
import type { Store } from '@toolfabric/ports';
import type { CredentialSource } from '../credential-source.ts';
import { createOAuth, type OAuthSettings } from '../oauth/create-oauth.ts';
import { OAUTH_PACE } from '../oauth/oauth-pace.ts';
import { resealAll } from '../vault/reseal.ts';
import { PendingLogin, Secrets } from '../vault/secrets.ts';
import { Vault } from '../vault/vault.ts';
import type { VaultKeys } from '../vault/vault-keys.ts';
import type { VaultRecord } from '../vault/vault-record.ts';
import { createSource } from './create-source.ts';
import { createVerbs } from './credential-verbs.ts';
import { KeptCredentials } from './kept-credentials.ts';
import { CREDENTIALS } from './places.ts';
import type { TellChange } from './tell-changes.ts';
import { type SecretPorts, subjectOf } from './usable-secret.ts';
import { type CloseCredential, Uses } from './uses.ts';

export interface BrokerPorts {
  readonly credentials: Store<CredentialRecord>;
  readonly vault: Store<VaultRecord>;
  readonly close: CloseCredential;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: Logger;
  readonly tell: TellChange;
}

/** The keeper of credentials: what the proxy shows, what the gateway asks, and the watch over what is in use. */
export interface Broker {
  readonly source: CredentialSource;
  serve(verb: string, body: string): Promise<string>;
  /** Ends the watch, and waits for tokens that are being fetched. */
  stop(): Promise<void>;
}

export const openBroker = (settings: OAuthSettings, keys: VaultKeys, ports: BrokerPorts): Broker => {
  const { clock, faults, log, tell } = ports;
  const vault = new Vault(ports.vault, keys, Secrets, clock);
  const kept = new KeptCredentials({ records: ports.credentials, vault, clock, faults, tell });
  const oauth = createOAuth(settings, {
    secrets: vault,
    logins: new Vault(ports.vault, keys, PendingLogin, clock),
    clock,
    faults,
    log,
    subjectFor: (record, handle) => subjectOf(secrets, record, handle),
  });
  const secrets: SecretPorts = { kept, vault, oauth, clock };
  const uses = new Uses({ kept, close: ports.close, connectionMs: settings.limits.connectionMs, clock, log });
  uses.start();
  const stopping = new AbortController();
  const resealing = { store: ports.vault, keys, log, signal: stopping.signal };
  // Under one key nothing can be older than the newest.
  const resealed = keys.size > 1 ? resealAll(resealing, CREDENTIALS) : Promise.resolve();
  const fetching = { ...settings, requestMs: (settings.pace ?? OAUTH_PACE).requestMs };
  return {
    source: createSource(secrets, uses),
    serve: createVerbs({ ...secrets, keys, logins: oauth.logins, uses, fetching, log }),
    stop: async () => {
      stopping.abort();
      await resealed;
      await uses.stop();
      await oauth.stop();
    },
  };
};
