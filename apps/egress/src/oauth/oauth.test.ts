import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT_SECRET, type OAuthRig, openOAuthRig } from '../testing/oauth-rig.ts';
import { busPlaceOf, keptOf } from '../testing/open-oauth.ts';

let nats: TestNats;
let rig: OAuthRig;
let { server, oauth, logged, hasty, fetchFor, loggedIn, given, late, over, rested } = {} as OAuthRig;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  rig = await openOAuthRig(busPlaceOf(nats));
  ({ server, oauth, logged, hasty, fetchFor, loggedIn, given, late, over, rested } = rig);
});
afterAll(async () => {
  await rig?.stop();
  await nats?.stop();
});
beforeEach(() => {
  server.lifeS = 3_600;
  server.rotates = true;
});

const refreshes = () => server.count('asked', 'refresh_token');
const LOGIN = { type: 'login_required' };
const REFUSED = { type: 'credential_refused' };
const PASSES = { type: 'unavailable' };

describe('PO-11: a refresh', () => {
  it('comes before the end; while it fails, what still holds is used', async () => {
    const kept = await loggedIn();
    const first = await fetchFor(kept);
    late();
    const before = refreshes();
    server.arm({ type: 'refuse', status: 503, error: 'temporarily_unavailable' });
    expect((await fetchFor(kept)).token).toBe(first.token);
    rested();
    const second = await fetchFor(kept);
    expect(second.token).not.toBe(first.token);
    expect(refreshes()).toBe(before + 1);
    expect(server.tokens.isGood(second.token)).toBe(true);
  });

  it.each([
    ['breaks off', { type: 'drop' }],
    ['is 500', { type: 'status', status: 500 }],
    ['is no JSON', { type: 'status', status: 200, body: '<html>' }],
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
      rested();
      await expect(fetchFor(kept)).rejects.toMatchObject(LOGIN);
      expect(refreshes()).toBe(before + 1);
      expect(server.count('reused')).toBe(0);
    },
  );

  it('whose answer does not end in time may have used it up as well', async () => {
    const kept = await loggedIn();
    over();
    server.arm({ type: 'hold' });
    await expect(hasty.tokenFor(kept, AbortSignal.timeout(60_000))).rejects.toMatchObject(LOGIN);
    server.release();
    await expect(fetchFor(kept)).rejects.toMatchObject(LOGIN);
  });

  it('whose answer is lost is asked again where the server was seen to keep the token', async () => {
    server.rotates = false;
    const kept = await loggedIn();
    over();
    await fetchFor(kept);
    over();
    server.arm({ type: 'drop' });
    await expect(fetchFor(kept)).rejects.toMatchObject(PASSES);
    rested();
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
    rested();
    await expect(fetchFor(kept)).rejects.toThrow('expired token');
    rested();
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(server.count('reused')).toBe(0);
  });

  it('is not disturbed by what it says about a person, and a refusal with status 200 is one', async () => {
    const kept = await loggedIn();
    over();
    server.arm({ type: 'answer', fields: { id_token: 'no token at all' } });
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    over();
    server.arm({ type: 'status', status: 200, body: '{"error":"invalid_scope"}' });
    await expect(fetchFor(kept)).rejects.toMatchObject(REFUSED);
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
    rested();
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
