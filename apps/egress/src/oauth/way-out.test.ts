import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../limits.ts';
import { certificateFor, testAuthority } from '../testing/certificates.ts';
import { OAuthServer } from '../testing/oauth-server.ts';
import { inside } from '../testing/open-oauth.ts';
import type { Pem } from '../tls/create-authority.ts';
import { Issuers } from './discover.ts';
import { createGuardedFetch, type FetchSettings } from './guarded-fetch.ts';
import { PrivateOrigins } from './private-origins.ts';

const HOST = 'login.corp';
let authority: Pem;
let secure: OAuthServer;
let wrong: OAuthServer;
let plain: OAuthServer;

beforeAll(async () => {
  authority = await testAuthority();
  secure = await OAuthServer.start({ host: HOST, certificate: await certificateFor([HOST], authority) });
  wrong = await OAuthServer.start({ host: HOST, certificate: await certificateFor(['other.corp'], authority) });
  plain = await OAuthServer.start();
});
afterAll(() => Promise.all([secure, wrong, plain].map((server) => server?.stop())));

const settings = (over: Partial<FetchSettings> = {}): FetchSettings => ({
  resolver: { resolve: () => Promise.resolve(['127.0.0.1']) },
  limits: DEFAULT_LIMITS,
  ca: [authority.cert],
  privateOrigins: [secure, wrong, plain].flatMap(({ issuer }) => inside(issuer)),
  requestMs: 15_000,
  ...over,
});
const ask = (issuer: string, url: string, over: Partial<FetchSettings> = {}) =>
  createGuardedFetch(new URL(issuer), settings(over))(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'public' }),
    redirect: 'manual',
  });
const notSent = (reason: string) => ({ reason, isSent: false });

describe('SB-2: what is said to an authorisation server goes out as everything else does', () => {
  it('over TLS to a host that shows its certificate, inside where the operator named it', async () => {
    expect((await ask(secure.issuer, `${secure.issuer}/token`)).status).toBe(200);
    await expect(ask(wrong.issuer, `${wrong.issuer}/token`)).rejects.toMatchObject(notSent('tls_certificate'));
    expect(wrong.heard).toEqual([]);
  });

  it('not to an address inside that nobody named, and not without TLS', async () => {
    const unnamed = { privateOrigins: [] };
    const { issuer } = secure;
    await expect(ask(issuer, `${issuer}/token`, unnamed)).rejects.toMatchObject(notSent('address_not_permitted'));
    const elsewhere = { privateOrigins: [{ origin: issuer, addresses: ['10.0.0.0/8'] }] };
    await expect(ask(issuer, `${issuer}/token`, elsewhere)).rejects.toMatchObject(notSent('address_not_permitted'));
    const http = plain.issuer;
    await expect(ask(http, `${http}/token`, unnamed)).rejects.toMatchObject(notSent('scheme_not_permitted'));
  });

  it('a server of the outside does not lead inwards with its end points', async () => {
    const outside = 'https://login.example.com';
    await expect(ask(outside, `${secure.issuer}/token`)).rejects.toMatchObject(notSent('address_not_permitted'));
    await expect(ask(outside, `${plain.issuer}/token`)).rejects.toMatchObject(notSent('scheme_not_permitted'));
    for (const url of ['https://169.254.169.254/', 'https://[::ffff:10.0.0.1]/', 'https://2130706433/']) {
      await expect(ask(outside, url)).rejects.toMatchObject(notSent('address_not_permitted'));
    }
    await expect(ask(outside, 'https://user:word@login.example.com/')).rejects.toMatchObject(
      notSent('target_malformed'),
    );
  });

  it('a port where nobody listens: nothing was sent', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const gone = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((resolve) => server.close(resolve));
    const named = { privateOrigins: inside(gone) };
    await expect(ask(gone, `${gone}/token`, named)).rejects.toMatchObject(notSent('connect_failed'));
  });

  it('what a server says of itself must name the one that was asked, and is asked for once', async () => {
    const issuers = new Issuers(settings(), systemClock);
    const { server } = await issuers.find({ issuer: secure.issuer });
    expect(server.token_endpoint).toBe(`${secure.issuer}/token`);
    expect(await issuers.find({ issuer: secure.issuer })).toBe(await issuers.find({ issuer: secure.issuer }));
    const liar = await OAuthServer.start({ metadata: { issuer: 'https://login.example.com' } });
    const lied = new Issuers(settings({ privateOrigins: inside(liar.issuer) }), systemClock);
    await expect(lied.find({ issuer: liar.issuer })).rejects.toMatchObject({ type: 'credential_refused' });
    await liar.stop();
    const unnamed = new Issuers(settings({ privateOrigins: [] }), systemClock);
    await expect(unnamed.find({ issuer: plain.issuer })).rejects.toMatchObject({ type: 'credential_refused' });
  });
});

describe('the setting for authorisation servers inside', () => {
  it('names an origin and its ranges', () => {
    expect(PrivateOrigins.parse('')).toEqual([]);
    expect(PrivateOrigins.parse('https://login.corp=10.1.0.0/16|fd00::/8,http://127.0.0.1:9=127.0.0.1/32')).toEqual([
      { origin: 'https://login.corp', addresses: ['10.1.0.0/16', 'fd00::/8'] },
      { origin: 'http://127.0.0.1:9', addresses: ['127.0.0.1/32'] },
    ]);
  });

  it.each([
    'login.corp=10.0.0.0/8',
    'https://login.corp',
    'https://login.corp=10.0.0.0',
    'https://a/b=10.0.0.0/8',
    'x',
  ])('not %s', (text) => expect(PrivateOrigins.safeParse(text).success).toBe(false));
});
