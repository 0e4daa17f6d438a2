import { connect } from 'node:net';
import type { CredentialDraft, EgressPermit, EgressRule } from '@toolfabric/contract';
import { createLogger } from '@toolfabric/kernel';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OAuthServer } from '../testing/oauth-server.ts';
import { ANN, type BrokerEgress, KEEPER, openBrokerEgress } from '../testing/open-broker.ts';
import { basic, permitFor } from '../testing/open-egress.ts';
import { busPlaceOf, inside, movableClock } from '../testing/open-oauth.ts';
import { openPeer, type Peer } from '../testing/open-peer.ts';
import { generateVaultKey } from '../vault/vault-keys.ts';

const SECRET = 'static-secret-canary';
const clock = movableClock();
const logged: string[] = [];
let nats: TestNats;
let server: OAuthServer;
let peer: Peer;
let one: BrokerEgress;
let two: BrokerEgress;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  server = await OAuthServer.start();
  peer = await openPeer(undefined, (req, res) => {
    if (req.url === '/api/slow') return void res.write('first');
    if (req.url === '/api/echo') {
      const { authorization = '', 'accept-encoding': packed } = req.headers;
      res.writeHead(200, { 'x-echo': authorization, 'content-length': authorization.length + 9 });
      res.write(authorization.slice(0, 12));
      return void setImmediate(() => res.end(`${authorization.slice(12)} ${packed}`));
    }
    res.end('seen');
  });
  const keys = generateVaultKey();
  const origin = `http://api.corp:${peer.port}`;
  const privateOrigins = [...inside(server.issuer), { origin, addresses: ['127.0.0.1/32'] }];
  const log = createLogger('egress', (line) => logged.push(line));
  one = await openBrokerEgress(busPlaceOf(nats), keys, { privateOrigins, clock, log });
  two = await openBrokerEgress(busPlaceOf(nats), keys, { privateOrigins, clock, log });
});
afterAll(async () => {
  await Promise.all([one, two].map((each) => each?.stop()));
  await peer?.stop();
  await server?.stop();
  await nats?.stop();
});

type About = Omit<CredentialDraft, 'sealed'>;
let made = 0;
const about = (over: Partial<About> = {}): About => ({
  handle: `user:c${++made}`,
  account: 'ann at the api',
  audience: { hosts: ['api.corp'], paths: ['/api'] },
  inject: { type: 'header', header: 'Authorization', template: 'Bearer {secret}' },
  kind: 'static',
  ...over,
});
const oauthOver = (kind: CredentialDraft['kind'], over: object = {}): Partial<About> => ({
  kind,
  oauth: { issuer: server.issuer, clientId: 'fabric', scopes: [], resource: 'http://api.corp/api', ...over },
});
const ruleFor = (credential: string, over: Partial<EgressRule> = {}): EgressRule => ({
  host: 'api.corp',
  scheme: 'http',
  ports: [peer.port],
  addresses: ['127.0.0.0/8'],
  credential,
  ...over,
});

const askThrough = async (
  { egress }: BrokerEgress,
  handle: string,
  path = '/api/me',
  over: { rule?: Partial<EgressRule>; permit?: Partial<EgressPermit> } = {},
) => {
  const rule = ruleFor(handle, over.rule);
  const token = await egress.open(permitFor([rule], over.permit));
  const target = `${rule.host}:${peer.port}`;
  const head = `GET http://${target}${path} HTTP/1.1\r\nhost: ${target}\r\nproxy-authorization: ${basic(token)}\r\n`;
  return egress.raw(`${head}connection: close\r\n\r\n`);
};
/** A request whose answer has begun and does not end. */
const holdOpen = async ({ egress }: BrokerEgress, permit: EgressPermit) => {
  const token = await egress.open(permit);
  const target = `api.corp:${peer.port}`;
  const socket = connect(egress.socketPath).on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const got = new Promise((resolve) => socket.once('data', resolve));
  const head = `GET http://${target}/api/slow HTTP/1.1\r\nhost: ${target}`;
  socket.write(`${head}\r\nproxy-authorization: ${basic(token)}\r\n\r\n`);
  await got;
  return { closed };
};
const shown = () => peer.seen.at(-1)?.headers.authorization;
const REFUSED = { status: 403, reason: 'credential_unavailable' };

describe('PO-11: a secret that was given once', () => {
  it('is shown to its audience, for its owner, and nowhere else', async () => {
    const { handle, version } = await one.add(ANN, about(), { secret: SECRET });
    expect(version).toBe(1);
    expect(await askThrough(one, handle)).toMatchObject({ status: 200, body: 'seen' });
    expect(shown()).toBe(`Bearer ${SECRET}`);
    const used = one.egress.attempts.find(({ credential }) => credential === handle);
    expect(used).toMatchObject({ verdict: 'allowed', account: 'ann at the api', credentialVersion: 1 });
    const before = peer.seen.length;
    expect(await askThrough(two, handle, '/apix')).toMatchObject(REFUSED);
    expect(await askThrough(two, handle, '/api/me', { rule: { host: 'other.corp' } })).toMatchObject(REFUSED);
    for (const who of [{ user: 'bob' }, { tenant: 'other' }]) {
      const permit = { actor: { tenant: 'acme', user: 'ann', agent: 'coder', ...who } };
      expect(await askThrough(two, handle, '/api/me', { permit })).toMatchObject(REFUSED);
    }
    expect(await askThrough(two, 'user:nothing')).toMatchObject(REFUSED);
    expect(peer.seen.length).toBe(before);
  });

  it('does not come back from a host that repeats what it was shown', async () => {
    const { handle } = await one.add(ANN, about(), { secret: SECRET });
    const answer = await askThrough(one, handle, '/api/echo');
    expect(answer).toMatchObject({ status: 200, body: `Bearer ${'*'.repeat(SECRET.length)} identity` });
    expect(shown()).toBe(`Bearer ${SECRET}`);
  });

  it('of the tenant acts for each of its users, and is kept by those with the right', async () => {
    const draft = about({ handle: 'tenant:registry', inject: { type: 'basic', user: 'build' } });
    await expect(one.add(ANN, draft, { secret: SECRET })).rejects.toMatchObject({ type: 'forbidden' });
    await one.add(KEEPER, draft, { secret: SECRET });
    expect(await askThrough(two, 'tenant:registry')).toMatchObject({ status: 200 });
    expect(shown()).toBe(`Basic ${Buffer.from(`build:${SECRET}`).toString('base64')}`);
    await expect(one.ask('revoke', { by: ANN, handle: 'tenant:registry' })).rejects.toMatchObject({
      type: 'forbidden',
    });
  });

  it('has an end by itself', async () => {
    const { handle } = await one.add(ANN, about({ expiresAt: clock.now() + 60_000 }), { secret: SECRET });
    const { closed } = await holdOpen(one, permitFor([ruleFor(handle)]));
    clock.skip(60_000);
    await closed;
    expect(await askThrough(one, handle)).toMatchObject(REFUSED);
  });

  it.each<[string, (keeper: BrokerEgress) => Promise<unknown>]>([
    ['revoked', (keeper) => keeper.ask('revoke', { by: ANN, handle: 'user:gone' })],
    ['given anew', (keeper) => keeper.add(ANN, about({ handle: 'user:gone' }), { secret: 'another' })],
  ])('that is %s in another process: what carries it is closed', async (_, end) => {
    await one.add(ANN, about({ handle: 'user:gone' }), { secret: SECRET });
    const { closed } = await holdOpen(two, permitFor([ruleFor('user:gone')]));
    await end(one);
    await closed;
    const again = await askThrough(two, 'user:gone');
    expect(again.status === 200 ? shown() : again.reason).toBe(
      again.status === 200 ? 'Bearer another' : 'credential_unavailable',
    );
  });

  it('protocol 7: is lent to one execution, and the loan is over when that is fenced', async () => {
    const { handle } = await one.add(ANN, about(), { secret: SECRET });
    const permit = permitFor([ruleFor(handle)]);
    const { closed } = await holdOpen(one, permit);
    const before = peer.seen.length;
    expect(await one.egress.revoke({ callId: permit.callId, epoch: 1 })).toEqual({ closed: 1 });
    await closed;
    await expect(one.egress.open(permit)).rejects.toThrow();
    expect(peer.seen.length).toBe(before);
    expect(await askThrough(one, handle, '/api/me', { permit: { callId: permit.callId, epoch: 2 } })).toMatchObject({
      status: 200,
    });
  });

  it('that was revoked is gone from the vault, and its record stays', async () => {
    const { handle } = await one.add(ANN, about(), { secret: SECRET });
    const before = (await one.vault.keys('credential')).length;
    expect(await one.ask('revoke', { by: ANN, handle })).toMatchObject({ state: 'revoked', version: 1 });
    expect(one.changes.at(-1)).toMatchObject({ what: 'revoked', by: { user: 'ann' }, record: { handle } });
    expect((await one.vault.keys('credential')).length).toBe(before - 1);
    await expect(one.ask('test', { by: ANN, handle })).rejects.toMatchObject({ type: 'credential_missing' });
    expect(await one.add(ANN, about({ handle }), { secret: SECRET })).toMatchObject({ state: 'active', version: 2 });
    await expect(one.ask('revoke', { by: ANN, handle: 'user:nothing' })).rejects.toMatchObject({ type: 'not_found' });
  });

  it('is tested where the operator allows it; a private address is refused, by its name', async () => {
    const testAddress = `http://api.corp:${peer.port}/api/me`;
    const { handle } = await one.add(ANN, about({ testAddress }), { secret: SECRET });
    expect(await one.ask('test', { by: ANN, handle })).toMatchObject({ status: 200, credential: { handle } });
    expect(shown()).toBe(`Bearer ${SECRET}`);
    const elsewhere = about({ testAddress: 'https://api.corp/api/me' });
    await one.add(ANN, elsewhere, { secret: SECRET });
    const refused = await one.ask('test', { by: ANN, handle: elsewhere.handle });
    expect(refused).toMatchObject({ refusal: 'address_not_permitted' });
    expect(JSON.stringify(refused)).not.toContain(SECRET);
  });

  it('lists what is one’s own and the tenant’s, page by page', async () => {
    const zoe = { ...ANN, user: 'zoe' };
    for (const handle of ['user:z2', 'user:z1']) await one.add(zoe, about({ handle }), { secret: SECRET });
    const first = await one.ask('list', { by: zoe, limit: 2 });
    expect(first.credentials.map(({ handle }) => handle)).toEqual(['tenant:registry', 'user:z1']);
    const next = await one.ask('list', { by: zoe, limit: 2, after: first.next });
    expect(next).toMatchObject({ credentials: [{ handle: 'user:z2' }] });
    expect(next.next).toBeUndefined();
    expect((await one.ask('list', { by: { ...zoe, tenant: 'other' } })).credentials).toEqual([]);
  });
});

describe('PO-11: the next secret', () => {
  it('of two that change one at once, each has its own secret or none', async () => {
    const { handle } = await one.add(ANN, about(), { secret: 'first' });
    const both = [one, two].map((keeper, index) => keeper.add(ANN, about({ handle }), { secret: `by-${index}` }));
    const ended = await Promise.allSettled(both);
    const winner = ended.findLastIndex(({ status }) => status === 'fulfilled');
    expect(winner).toBeGreaterThanOrEqual(0);
    expect(await askThrough(one, handle)).toMatchObject({ status: 200 });
    const { version } =
      (await one.ask('list', { by: ANN, limit: 100 })).credentials.find((c) => c.handle === handle) ?? {};
    const stands = ended.findIndex((each) => each.status === 'fulfilled' && each.value.version === version);
    expect(shown()).toBe(`Bearer by-${stands}`);
  });
});

describe('PO-11: an account behind an authorisation server', () => {
  it('is logged in to, shown, renewed, and needs a login again once its renewal was lost', async () => {
    const draft = about(oauthOver('oauth_authorization_code'));
    const by = { by: ANN, handle: draft.handle };
    const added = await one.add(ANN, draft, { clientSecret: 'client-secret-canary' });
    expect(added).toMatchObject({ state: 'needs_login', version: 1 });
    expect(await askThrough(one, draft.handle)).toMatchObject(REFUSED);
    const begun = await one.ask('beginLogin', { ...by, redirectUri: 'http://127.0.0.1:7777/callback' });
    const address = await server.browse(begun.address);
    const logged = await two.ask('completeLogin', { ...by, state: begun.state, address });
    expect(logged).toMatchObject({ state: 'active', version: 2 });
    expect(await askThrough(one, draft.handle)).toMatchObject({ status: 200 });
    const first = shown()?.slice('Bearer '.length) ?? '';
    expect(server.tokens.isGood(first)).toBe(true);
    clock.skip(3_600_000);
    expect(await askThrough(two, draft.handle)).toMatchObject({ status: 200 });
    expect(shown()).not.toContain(first);
    const told = [one, two].flatMap(({ changes }) => changes.filter(({ record }) => record.handle === draft.handle));
    expect(told.map(({ what, by, record }) => [what, by?.user, record.version])).toEqual([
      ['added', 'ann', 1],
      ['logged_in', 'ann', 2],
    ]);
    clock.skip(3_600_000);
    server.arm({ type: 'drop' });
    expect(await askThrough(one, draft.handle)).toMatchObject(REFUSED);
    const { credentials } = await one.ask('list', { by: ANN, limit: 100 });
    expect(credentials.find(({ handle }) => handle === draft.handle)).toMatchObject({
      state: 'needs_login',
      version: 2,
    });
    expect(one.changes.at(-1)).toMatchObject({ what: 'needs_login', record: { handle: draft.handle, version: 2 } });
  });

  it('an exchange takes the token of another credential of the same owner', async () => {
    const subject = about(oauthOver('oauth_client_credentials'));
    await one.add(ANN, subject, { clientSecret: 'client-secret-canary' });
    const draft = about(oauthOver('oauth_token_exchange', { subject: subject.handle }));
    await one.add(ANN, draft, { clientSecret: 'client-secret-canary' });
    expect(await askThrough(one, draft.handle)).toMatchObject({ status: 200 });
    const exchanged = server.truth.findLast(({ event }) => event === 'exchanged') as { subject: string };
    expect(server.tokens.isGood(exchanged.subject)).toBe(true);
    clock.skip(3_600_000);
    server.arm({ type: 'status', status: 500 });
    expect(await askThrough(one, draft.handle)).toMatchObject({ status: 503, reason: 'credential_not_ready' });
    const chain = about(oauthOver('oauth_token_exchange', { subject: draft.handle }));
    await one.add(ANN, chain, { clientSecret: 'client-secret-canary' });
    expect(await askThrough(one, chain.handle)).toMatchObject(REFUSED);
    // Nobody has another's secret, or one that is meant for elsewhere, shown to a server of their choice.
    const registry = about({ ...oauthOver('oauth_token_exchange', { subject: 'tenant:registry' }) });
    await expect(one.add(ANN, registry)).rejects.toMatchObject({ type: 'invalid_request' });
    const elsewhere = about();
    await one.add(ANN, elsewhere, { secret: SECRET });
    const taken = about(oauthOver('oauth_token_exchange', { subject: elsewhere.handle }));
    await one.add(ANN, taken, { clientSecret: 'client-secret-canary' });
    const asked = server.truth.length;
    expect(await askThrough(one, taken.handle)).toMatchObject(REFUSED);
    expect(server.truth.length).toBe(asked);
    const bob = about({ ...oauthOver('oauth_token_exchange', { subject: subject.handle }), handle: 'user:bobs' });
    await one.add({ ...ANN, user: 'bob' }, bob, { clientSecret: 'client-secret-canary' });
    const permit = { actor: { tenant: 'acme', user: 'bob', agent: 'coder' } };
    expect(await askThrough(one, 'user:bobs', '/api/me', { permit })).toMatchObject(REFUSED);
  });

  it('canary: no secret stands in what is stored, logged or attempted', async () => {
    expect(logged).not.toEqual([]);
    const stored = await Promise.all(
      [one.vault, one.credentials].map(async (store) =>
        Promise.all((await store.keys('credential')).map((key) => store.get(key))),
      ),
    );
    const changes = [...one.changes, ...two.changes];
    const seen = JSON.stringify([stored, logged, changes, one.egress.attempts, two.egress.attempts]);
    const tokens = server.truth.flatMap((truth) => (truth.event === 'issued' ? [truth.accessToken] : []));
    expect(tokens.length).toBeGreaterThan(3);
    for (const secret of [SECRET, 'client-secret-canary', ...tokens]) expect(seen).not.toContain(secret);
  });
});
