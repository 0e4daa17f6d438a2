import { connectEgress } from '@toolfabric/bus-nats';
import type { CredentialRecord } from '@toolfabric/contract';
import {
  type Clock,
  type Faults,
  type Logger,
  noFaults,
  randomId,
  silentLogger,
  systemClock,
} from '@toolfabric/kernel';
import { DEFAULT_LIMITS } from '../limits.ts';
import { createOAuth, type OAuthPorts, type OAuthSettings } from '../oauth/create-oauth.ts';
import { NoToken } from '../oauth/oauth-failure.ts';
import { OAUTH_PACE, type OAuthPace } from '../oauth/oauth-pace.ts';
import type { Kept } from '../oauth/renewals.ts';
import { PendingLogin, Secrets } from '../vault/secrets.ts';
import { Vault } from '../vault/vault.ts';
import { parseVaultKeys } from '../vault/vault-keys.ts';
import { VaultRecord } from '../vault/vault-record.ts';

/** As in production, where a slow machine must not change the outcome; looked at more often. */
export const TEST_OAUTH_PACE: OAuthPace = { ...OAUTH_PACE, pollMs: 20, restMs: 5_000, loginMs: 60_000 };

export interface BusPlace {
  readonly url: string;
  readonly nkeySeed: string;
  readonly publicKeys: Readonly<Record<string, string>>;
}

/** What is needed of the bus of a test. */
interface TestBus {
  readonly url: string;
  readonly seeds: Readonly<Record<string, string>>;
  readonly busKeys: Readonly<Record<string, string>>;
}

export const busPlaceOf = ({ url, seeds, busKeys }: TestBus): BusPlace => ({
  url,
  nkeySeed: seeds['egress'] ?? '',
  publicKeys: busKeys,
});

/** The machine's clock, which a test moves on. */
export const movableClock = () => {
  let ahead = 0;
  const clock: Clock = {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    sleep: systemClock.sleep,
  };
  const skip = (ms: number) => {
    ahead += ms;
  };
  return { ...clock, skip };
};

export interface OAuthOptions {
  readonly settings?: Partial<OAuthSettings>;
  readonly clock?: Clock;
  readonly faults?: Faults;
  readonly log?: Logger;
  readonly subjectFor?: OAuthPorts['subjectFor'];
}

/** Everything about tokens, on the vault of a real bus. Loopback is inside, so each test says what may be reached there. */
export const openOAuth = async ({ url, nkeySeed, publicKeys }: BusPlace, keys: string, options: OAuthOptions = {}) => {
  const bus = await connectEgress({ servers: [url], nkeySeed, publicKeys, name: 'egress' });
  const [store, clock] = [bus.vault(VaultRecord), options.clock ?? systemClock];
  const vaultKeys = parseVaultKeys(keys);
  const vault = new Vault(store, vaultKeys, Secrets, clock);
  const logins = new Vault(store, vaultKeys, PendingLogin, clock);
  const resolver = { resolve: () => Promise.resolve(['127.0.0.1']) };
  const oauth = createOAuth(
    {
      resolver,
      limits: DEFAULT_LIMITS,
      ca: [],
      privateOrigins: [],
      redirectUris: [],
      pace: TEST_OAUTH_PACE,
      ...options.settings,
    },
    {
      subjectFor: options.subjectFor ?? (() => Promise.reject(new NoToken('refused', 'nothing to exchange'))),
      secrets: vault,
      logins,
      clock,
      faults: options.faults ?? noFaults,
      log: options.log ?? silentLogger,
    },
  );
  return {
    ...oauth,
    store,
    vault,
    pending: logins,
    stop: async () => {
      await oauth.stop();
      await bus.close();
    },
  };
};
export type TestOAuth = Awaited<ReturnType<typeof openOAuth>>;

/** The origin of a local server, as an operator names one inside. */
export const inside = (issuer: string) => [{ origin: issuer, addresses: ['127.0.0.1/32'] }];

/** A credential of the issuer, at a place of its own. */
export const keptOf = (issuer: string, over: Partial<CredentialRecord> = {}): Kept => ({
  record: {
    handle: 'user:tracker',
    tenant: 'acme',
    user: 'ann',
    account: 'ann at the tracker',
    audience: { hosts: ['api.example.com'] },
    inject: { type: 'header', header: 'Authorization', template: 'Bearer {secret}' },
    kind: 'oauth_authorization_code',
    oauth: { issuer, clientId: 'fabric', scopes: ['issues:write'], resource: 'https://api.example.com/v1' },
    state: 'active',
    version: 1,
    createdAt: 1,
    changedAt: 1,
    ...over,
  },
  place: `credential.acme.test.${randomId()}.1`,
});
