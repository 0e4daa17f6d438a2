import type { CredentialRecord } from '@toolfabric/contract';
import { createLogger } from '@toolfabric/kernel';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OAuthServer } from '../testing/oauth-server.ts';
import { busPlaceOf, inside, keptOf, movableClock, openOAuth, type TestOAuth } from '../testing/open-oauth.ts';
import type { Secrets } from '../vault/secrets.ts';
import { generateVaultKey } from '../vault/vault-keys.ts';
import { NoToken } from './oauth-failure.ts';

const CLIENT_SECRET = 'client-secret-canary';
const BACK = 'http://127.0.0.1:7777/back';
const clock = movableClock();
const logged: string[] = [];
let nats: TestNats;
let server: OAuthServer;
let oauth: TestOAuth;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  server = await OAuthServer.start();
  oauth = await openOAuth(busPlaceOf(nats), generateVaultKey(), {
    clock,
    subjectFor: async ({ user }, handle) => {
      if (handle === 'user:none') throw new NoToken('login', 'it is over');
      return `token of ${user} at ${handle}`;
    },
    log: createLogger('egress', (line) => logged.push(line)),
    settings: { privateOrigins: inside(server.issuer), redirectUris: ['https://fabric.example.com/login'] },
  });
});
afterAll(async () => {
  await oauth?.stop();
  await server?.stop();
  await nats?.stop();
});
beforeEach(() => {
  server.lifeS = 3_600;
  server.rotates = true;
});

type Kept = ReturnType<typeof keptOf>;
const signal = () => AbortSignal.timeout(30_000);
const fetchFor = (kept: Kept) => oauth.tokenFor(kept, signal());
const waitingAt = ({ record, place }: Kept): Kept => ({ record, place: `${place}.login` });

const logIn = async (kept: Kept, secrets: Secrets = { clientSecret: CLIENT_SECRET }): Promise<Secrets> => {
  const begun = await oauth.logins.begin(waitingAt(kept), BACK);
  return oauth.logins.complete(waitingAt(kept), secrets, begun.state, await server.browse(begun.address));
};
const loggedIn = async (): Promise<Kept> => {
  const kept = keptOf(server.issuer);
  await oauth.vault.create(kept.place, await logIn(kept));
  return kept;
};
const given = async (kind: CredentialRecord['kind'], secrets: Secrets, over: Partial<CredentialRecord> = {}) => {
  const kept = keptOf(server.issuer, { kind, ...over });
  await oauth.vault.create(kept.place, { clientSecret: CLIENT_SECRET, ...secrets });
  return kept;
};
/** The access token has to be renewed, and still holds. */
const late = () => clock.skip(3_600_000 - 30_000);
const over = () => clock.skip(3_600_000);
const refreshes = () => server.count('asked', 'refresh_token');
const LOGIN = { type: 'login_required' };
const REFUSED = { type: 'credential_refused' };
const PASSES = { type: 'unavailable' };

describe('PO-11: a login with authorization code and PKCE', () => {
  it('ends with tokens for the resource; the verifier waits sealed, and is gone afterwards', async () => {
    const kept = keptOf(server.issuer);
    const begun = await oauth.logins.begin(waitingAt(kept), BACK);
    const asked = new URL(begun.address).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('resource')).toBe('https://api.example.com/v1');
    const stored = JSON.stringify(await oauth.store.get(waitingAt(kept).place));
    const verifier = (await oauth.pending.read(waitingAt(kept).place))?.secrets.verifier ?? '?';
    expect(stored).not.toContain(verifier);
    expect(stored).not.toContain(begun.state);
    const back = await server.browse(begun.address);
    const secrets = await oauth.logins.complete(waitingAt(kept), { clientSecret: CLIENT_SECRET }, begun.state, back);
    await oauth.vault.create(kept.place, secrets);
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(await oauth.pending.read(waitingAt(kept).place)).toBeUndefined();
    await expect(oauth.logins.complete(waitingAt(kept), {}, begun.state, back)).rejects.toThrow('no such login');
  });

  it('of two that complete at once, one does', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    const begun = await oauth.logins.begin(kept, BACK);
    const back = await server.browse(begun.address);
    const both = [1, 2].map(() => oauth.logins.complete(kept, { clientSecret: CLIENT_SECRET }, begun.state, back));
    const ended = await Promise.allSettled(both);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each<[string, (back: URL) => unknown, object]>([
    ['of another login', (back) => back.searchParams.set('state', 'x'.repeat(43)), { type: 'invalid_request' }],
    ['at another address', (back) => Object.assign(back, { port: '7778' }), { type: 'invalid_request' }],
    [
      'of another issuer',
      (back) => back.searchParams.set('iss', 'https://evil.example.com'),
      { type: 'invalid_request' },
    ],
    ['without an issuer, which it should name', (back) => back.searchParams.delete('iss'), { type: 'invalid_request' }],
    ['with another code', (back) => back.searchParams.set('code', 'guessed'), LOGIN],
    ['that says no', (back) => back.searchParams.set('error', 'access_denied'), LOGIN],
  ])('is not completed by an answer %s', async (_, change, failure) => {
    const kept = waitingAt(keptOf(server.issuer));
    const begun = await oauth.logins.begin(kept, BACK);
    const back = new URL(await server.browse(begun.address));
    change(back);
    const completing = oauth.logins.complete(kept, { clientSecret: CLIENT_SECRET }, begun.state, back.href);
    await expect(completing).rejects.toMatchObject(failure);
  });

  it('ends by time, by a newer login and by a newer version of the credential', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    const begin = () => oauth.logins.begin(kept, BACK);
    const end = async ({ state, address }: Awaited<ReturnType<typeof begin>>, record = kept.record) =>
      oauth.logins.complete({ ...kept, record }, {}, state, await server.browse(address));
    const first = await begin();
    const second = await begin();
    await expect(end(first)).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(end(second, { ...kept.record, version: 2 })).rejects.toMatchObject({ type: 'invalid_request' });
    clock.skip(61_000);
    await expect(end(second)).rejects.toMatchObject({ type: 'invalid_request' });
  });

  it('comes back to loopback, or exactly to an address of the operator', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    await oauth.logins.begin(kept, 'https://fabric.example.com/login');
    const others = `https://fabric.example.com/login2 https://evil.example.com/ http://127.0.0.1.evil.example.com/
      http://user@127.0.0.1/ https://127.0.0.1/ http://10.0.0.1/ http://127.0.0.1/#x nothing`;
    for (const wrong of others.split(/\s+/))
      await expect(oauth.logins.begin(kept, wrong)).rejects.toMatchObject({ type: 'invalid_request' });
    const machine = keptOf(server.issuer, { kind: 'oauth_client_credentials' });
    await expect(oauth.logins.begin(machine, BACK)).rejects.toMatchObject({ type: 'invalid_request' });
  });
});

describe('PO-11: a refresh', () => {
  it('comes before the end; while it fails, what still holds is used', async () => {
    const kept = await loggedIn();
    const first = await fetchFor(kept);
    late();
    const before = refreshes();
    server.arm({ type: 'refuse', status: 503, error: 'temporarily_unavailable' });
    expect((await fetchFor(kept)).token).toBe(first.token);
    clock.skip(100);
    const second = await fetchFor(kept);
    expect(second.token).not.toBe(first.token);
    expect(refreshes()).toBe(before + 1);
    expect(server.tokens.isGood(second.token)).toBe(true);
  });

  it.each([
    ['breaks off', { type: 'drop' }],
    ['is 500', { type: 'status', status: 500 }],
    ['is no JSON', { type: 'status', status: 200, body: '<html>' }],
    ['does not end in time', { type: 'hold' }],
    ['is a redirect', { type: 'status', status: 302 }],
    ['is endless', { type: 'status', status: 200, body: `"${'x'.repeat(300_000)}"` }],
  ] as const)(
    'whose answer %s may have used the token up: a login is needed, and nothing is asked again',
    async (_, arm) => {
      const kept = await loggedIn();
      over();
      const before = refreshes();
      server.arm(arm);
      await expect(fetchFor(kept)).rejects.toMatchObject(LOGIN);
      clock.skip(60_000);
      await expect(fetchFor(kept)).rejects.toMatchObject(LOGIN);
      expect(refreshes()).toBe(before + 1);
      expect(server.count('reused')).toBe(0);
      server.release();
    },
  );

  it('whose answer is lost is asked again where the server was seen to keep the token', async () => {
    server.rotates = false;
    const kept = await loggedIn();
    over();
    await fetchFor(kept);
    over();
    server.arm({ type: 'drop' });
    await expect(fetchFor(kept)).rejects.toMatchObject(PASSES);
    clock.skip(100);
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
  });

  it('that the server does not take ends the login', async () => {
    const kept = await loggedIn();
    over();
    server.arm({ type: 'refuse', status: 400, error: 'invalid_grant' });
    await expect(fetchFor(kept)).rejects.toMatchObject(LOGIN);
  });

  it('that brings a token for somebody else, or one that is over: refused, and the next one is asked with what it left', async () => {
    const kept = await loggedIn();
    over();
    server.arm({ type: 'audience', aud: 'https://other.example.com/' }, { type: 'life', seconds: 0 });
    await expect(fetchFor(kept)).rejects.toMatchObject(REFUSED);
    clock.skip(100);
    await expect(fetchFor(kept)).rejects.toThrow('expired token');
    clock.skip(100);
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(server.count('reused')).toBe(0);
  });

  it('rests after a failure', async () => {
    const kept = await given('oauth_client_credentials', {});
    server.arm({ type: 'refuse', status: 400, error: 'invalid_scope' });
    await expect(fetchFor(kept)).rejects.toMatchObject(REFUSED);
    const before = server.count('asked');
    await expect(fetchFor(kept)).rejects.toMatchObject(REFUSED);
    expect(server.count('asked')).toBe(before);
  });
});

describe('PO-11: tokens without a login', () => {
  it('client credentials for scope and resource, kept until they end', async () => {
    const kept = await given('oauth_client_credentials', {});
    const before = server.count('asked', 'client_credentials');
    const found = await Promise.all([fetchFor(kept), fetchFor(kept), fetchFor(kept)]);
    await fetchFor(kept);
    expect(new Set(found.map(({ token }) => token)).size).toBe(1);
    expect(server.count('asked', 'client_credentials')).toBe(before + 1);
    expect(server.heard.at(-1)).toContain('scope=issues%3Awrite&resource=https%3A%2F%2Fapi.example.com%2Fv1');
    over();
    server.arm({ type: 'drop' });
    await expect(fetchFor(kept)).rejects.toMatchObject(PASSES);
    clock.skip(100);
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
  });

  it('token exchange shows the token of its subject', async () => {
    const kept = await given('oauth_token_exchange', { subjectToken: 'subject-canary' });
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(server.truth).toContainEqual({ event: 'exchanged', subject: 'subject-canary' });
    await expect(fetchFor(await given('oauth_token_exchange', {}))).rejects.toMatchObject(REFUSED);
  });

  it('token exchange shows the token of another credential, where the record names one', async () => {
    const oauthOf = (subject: string) => ({
      oauth: { issuer: server.issuer, clientId: 'fabric', scopes: [], subject },
    });
    const kept = await given('oauth_token_exchange', {}, oauthOf('user:login'));
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(server.truth).toContainEqual({ event: 'exchanged', subject: 'token of ann at user:login' });
    const missing = await given('oauth_token_exchange', {}, oauthOf('user:none'));
    await expect(fetchFor(missing)).rejects.toMatchObject(LOGIN);
  });

  it('a wrong secret of the client, a token for another host and one of another type are refused', async () => {
    await expect(fetchFor(await given('oauth_client_credentials', { clientSecret: 'guess' }))).rejects.toMatchObject(
      REFUSED,
    );
    const bare = { issuer: server.issuer, clientId: 'fabric', scopes: [] };
    server.arm({ type: 'audience', aud: 'https://other.example.com/' });
    await expect(fetchFor(await given('oauth_client_credentials', {}, { oauth: bare }))).rejects.toThrow(
      'another audience',
    );
    server.arm({ type: 'answer', fields: { token_type: 'DPoP' } });
    await expect(fetchFor(await given('oauth_client_credentials', {}))).rejects.toThrow('no bearer token');
    server.arm({ type: 'answer', fields: { access_token: 'two words\r\nX-Header: 1' } });
    await expect(fetchFor(await given('oauth_client_credentials', {}))).rejects.toMatchObject(REFUSED);
  });

  it('nothing in the vault, and no authorisation server', async () => {
    await expect(fetchFor(keptOf(server.issuer))).rejects.toMatchObject(LOGIN);
    const { oauth: _, ...record } = keptOf(server.issuer, { kind: 'oauth_client_credentials' }).record;
    const kept = await given('oauth_client_credentials', {});
    await expect(fetchFor({ ...kept, record })).rejects.toMatchObject(REFUSED);
  });
});

describe('canary', () => {
  it('no secret stands in a failure, in the log or in the store', async () => {
    const kept = await loggedIn();
    over();
    server.arm({ type: 'refuse', status: 400, error: 'invalid_grant', description: `bad ${CLIENT_SECRET}` });
    const failure = await fetchFor(kept).catch((thrown: Error) => thrown);
    server.arm({ type: 'refuse', status: 400, error: `no_${CLIENT_SECRET}!` });
    const other = await fetchFor(await given('oauth_client_credentials', {})).catch((thrown: Error) => thrown);
    const stored = await Promise.all((await oauth.store.keys('credential')).map((key) => oauth.store.get(key)));
    const told = [failure, other].map(
      (one) => `${JSON.stringify(one)} ${(one as Error).stack} ${String((one as Error).cause)}`,
    );
    const seen = [...told, ...logged, JSON.stringify(stored)].join('\n');
    const secrets = server.truth.flatMap((one) =>
      one.event === 'issued' ? [one.accessToken, one.refreshToken ?? one.accessToken] : [],
    );
    expect(logged.length).toBeGreaterThan(0);
    expect(secrets.length).toBeGreaterThan(10);
    for (const secret of [CLIENT_SECRET, 'subject-canary', ...secrets]) expect(seen).not.toContain(secret);
  });
});
