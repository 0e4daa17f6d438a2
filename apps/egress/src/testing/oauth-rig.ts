import type { CredentialRecord } from '@toolfabric/contract';
import { createLogger } from '@toolfabric/kernel';
import { NoToken } from '../oauth/oauth-failure.ts';
import type { Kept } from '../oauth/renewals.ts';
import type { Secrets } from '../vault/secrets.ts';
import { generateVaultKey } from '../vault/vault-keys.ts';
import { OAuthServer, type OAuthServerOptions } from './oauth-server.ts';
import { type BusPlace, inside, keptOf, movableClock, openOAuth, TEST_OAUTH_PACE } from './open-oauth.ts';

export const CLIENT_SECRET = 'client-secret-canary';
export const BACK = 'http://127.0.0.1:7777/back';

/** Where the login of a credential waits. */
export const waitingAt = ({ record, place }: Kept): Kept => ({ record, place: `${place}.login` });

/** Everything about tokens with an authorisation server that it may ask, and a clock that a test moves on. */
export const openOAuthRig = async (bus: BusPlace, options: OAuthServerOptions = {}) => {
  const server = await OAuthServer.start(options);
  const clock = movableClock();
  const logged: string[] = [];
  const keys = generateVaultKey();
  const settings = { privateOrigins: inside(server.issuer), redirectUris: ['https://fabric.example.com/login'] };
  const oauth = await openOAuth(bus, keys, {
    clock,
    settings,
    subjectFor: async ({ user }, handle) => {
      if (handle === 'user:none') throw new NoToken('login', 'it is over');
      return `token of ${user} at ${handle}`;
    },
    log: createLogger('egress', (line) => logged.push(line)),
  });
  /** On the same vault, without patience for an answer. */
  const hasty = await openOAuth(bus, keys, {
    clock,
    settings: { ...settings, pace: { ...TEST_OAUTH_PACE, requestMs: 400 } },
  });
  const logIn = async (kept: Kept, secrets: Secrets = { clientSecret: CLIENT_SECRET }): Promise<Secrets> => {
    const begun = await oauth.logins.begin(waitingAt(kept), BACK);
    return oauth.logins.complete(waitingAt(kept), secrets, begun.state, await server.browse(begun.address));
  };
  return {
    server,
    clock,
    logged,
    oauth,
    hasty,
    fetchFor: (kept: Kept) => oauth.tokenFor(kept, AbortSignal.timeout(60_000)),
    logIn,
    loggedIn: async (): Promise<Kept> => {
      const kept = keptOf(server.issuer);
      await oauth.vault.create(kept.place, await logIn(kept));
      return kept;
    },
    given: async (kind: CredentialRecord['kind'], secrets: Secrets, over: Partial<CredentialRecord> = {}) => {
      const kept = keptOf(server.issuer, { kind, ...over });
      await oauth.vault.create(kept.place, { clientSecret: CLIENT_SECRET, ...secrets });
      return kept;
    },
    /** The access token has to be renewed, and still holds. */
    late: () => clock.skip(3_600_000 - 30_000),
    /** It holds no longer. */
    over: () => clock.skip(3_600_000),
    /** The rest after a failure is over. */
    rested: () => clock.skip(TEST_OAUTH_PACE.restMs + 1),
    stop: async () => {
      server.release();
      await Promise.all([oauth, hasty].map((each) => each.stop()));
      await server.stop();
    },
  };
};
export type OAuthRig = Awaited<ReturnType<typeof openOAuthRig>>;
