import { generateKeyPairSync } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { connectFabric, type FabricClient, type NewCredential } from '@toolfabric/client';
import { type CredentialRecord, EGRESS_RPC, type EgressVerb } from '@toolfabric/contract';
import { FabricError, openSealed, vaultKeyOf } from '@toolfabric/kernel';
import { RequestUnanswered } from '@toolfabric/ports';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALICE, type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';

const SECRET = 'canary-4b1d-s3cret';
const { privateKey } = generateKeyPairSync('x25519');
const RECORD: CredentialRecord = {
  tenant: 'acme',
  user: 'alice',
  handle: 'user:tracker',
  account: 'alice@example.com',
  audience: { hosts: ['tracker.example.com'] },
  inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
  kind: 'static',
  state: 'active',
  version: 1,
  createdAt: 5,
  changedAt: 6,
};
const { handle, account, audience, inject, kind } = RECORD;
const NEW: NewCredential = { handle, account, audience, inject, kind, secret: { secret: SECRET } };

/** The keeper's side of the bus: what it was sent, and what it answers next. */
const asked: { verb: string; body: string }[] = [];
let answers: Partial<Record<EgressVerb, unknown>> = {};
const keeper = async (verb: string, body: string): Promise<string> => {
  asked.push({ verb, body });
  EGRESS_RPC[verb as EgressVerb].request.parse(JSON.parse(body));
  const answer = verb === 'key' ? vaultKeyOf('v1', privateKey) : answers[verb as EgressVerb];
  if (answer === undefined) throw new RequestUnanswered('nobody keeps credentials');
  if (typeof answer === 'string') return answer;
  return JSON.stringify(answer instanceof FabricError ? { error: answer.toToolError() } : { ok: answer });
};

let open: OpenGateway<FabricClient>;
let alice: FabricClient;
let manager: FabricClient;
beforeAll(async () => {
  open = await openGateway(connectFabric, { ...new ScriptedRouter().ports(), askEgress: keeper });
  alice = open.connect(open.alice);
  manager = open.connect(open.issue({ id: 'grace', ...ALICE, user: 'grace', rights: ['credentials:manage'] }));
  open.writeTokens();
  // A token is known once the gateway has read its file again.
  answers.list = { credentials: [] };
  const isKnown = () =>
    manager.listCredentials().then(
      () => true,
      () => false,
    );
  while (!(await isKnown())) await setTimeout(20);
});
afterAll(() => open.close());
beforeEach(() => {
  asked.length = 0;
  answers = {};
});
const bodyOf = (verb: string) => JSON.parse(asked.find((request) => request.verb === verb)?.body ?? 'null');

describe('PO-11: a credential through the front door', () => {
  it('is added as that of the user of the token, its secret sealed so that only the vault reads it', async () => {
    answers.add = RECORD;
    expect(await alice.addCredential(NEW)).toStrictEqual(RECORD);
    const { by, draft } = bodyOf('add');
    expect(by).toMatchObject({ ...ALICE, tokenId: 'alice' });
    const { sealed, ...about } = draft;
    expect(about).toEqual({ handle, account, audience, inject, kind });
    expect(JSON.parse(openSealed(sealed, privateKey, handle))).toEqual({ secret: SECRET });
    expect(() => openSealed(sealed, privateKey, 'user:other')).toThrow();
    for (const { body } of asked) expect(body).not.toContain(SECRET);
  });

  it('is added without asking for a key where a login brings the secret', async () => {
    answers.add = { ...RECORD, state: 'needs_login' };
    const { secret: _, ...rest } = NEW;
    expect(await alice.addCredential(rest)).toMatchObject({ state: 'needs_login' });
    expect(asked.map(({ verb }) => verb)).toEqual(['add']);
  });

  it('is listed by pages, tested and revoked', async () => {
    answers = {
      list: { credentials: [RECORD], next: handle },
      test: { credential: RECORD, status: 401 },
      revoke: { ...RECORD, state: 'revoked' },
    };
    expect(await alice.listCredentials({ after: 'user:a', limit: 1 })).toEqual({ credentials: [RECORD], next: handle });
    expect(bodyOf('list')).toMatchObject({ by: ALICE, after: 'user:a', limit: 1 });
    expect(await alice.testCredential(handle)).toEqual({ credential: RECORD, status: 401 });
    expect(await alice.revokeCredential(handle)).toMatchObject({ state: 'revoked' });
    expect(bodyOf('revoke')).toMatchObject({ by: ALICE, handle });
  });

  it('is tested with one request, and a login begins once: neither is sent again', async () => {
    const away = new FabricError('unavailable', 'the authorisation server cannot be asked');
    answers = { test: away, beginLogin: away };
    await expect(alice.testCredential(handle)).rejects.toMatchObject({ type: 'unavailable' });
    await expect(alice.beginLogin(handle, 'http://127.0.0.1:1/callback')).rejects.toMatchObject({
      type: 'unavailable',
    });
    expect(asked.map(({ verb }) => verb)).toEqual(['test', 'beginLogin']);
  });

  it('gets a login, which is completed once and never sent again', async () => {
    const begun = { address: 'https://login.example.com/authorize?state=x', state: 'x'.repeat(22), expiresAt: 99 };
    answers = { beginLogin: begun, completeLogin: RECORD };
    const redirectUri = 'http://127.0.0.1:49152/callback';
    expect(await alice.beginLogin(handle, redirectUri)).toEqual(begun);
    const came = { state: begun.state, address: `${redirectUri}?code=c&state=${begun.state}` };
    expect(await alice.completeLogin(handle, came)).toStrictEqual(RECORD);
    expect(bodyOf('completeLogin')).toMatchObject({ by: ALICE, handle, ...came });
    answers = { completeLogin: new FabricError('unavailable', 'the store is away') };
    asked.length = 0;
    await expect(alice.completeLogin(handle, came)).rejects.toMatchObject({ type: 'unavailable' });
    expect(asked).toHaveLength(1);
  });
});

describe('PO-11: whose a credential may be', () => {
  const verbs = (client: FabricClient, of: string): readonly [string, () => Promise<unknown>][] => [
    ['add', () => client.addCredential({ ...NEW, handle: of })],
    ['revoke', () => client.revokeCredential(of)],
    ['test', () => client.testCredential(of)],
    ['beginLogin', () => client.beginLogin(of, 'http://127.0.0.1:1/callback')],
    ['completeLogin', () => client.completeLogin(of, { state: 's', address: 'http://127.0.0.1:1/callback' })],
  ];

  it.each(['tenant:registry', 'shared:x'])('%s is refused to an ordinary user: nobody is even asked', async (of) => {
    for (const [, ask] of verbs(alice, of))
      await expect(ask()).rejects.toMatchObject({
        type: 'forbidden',
        message: expect.stringContaining('credentials:manage'),
      });
    expect(asked.filter(({ verb }) => verb !== 'key')).toEqual([]);
  });

  it('of the tenant needs the right, and the request says who had it', async () => {
    const record = { ...RECORD, handle: 'tenant:registry', user: undefined };
    answers = { add: record, revoke: record };
    await manager.addCredential({ ...NEW, handle: 'tenant:registry' });
    expect(bodyOf('add').by).toMatchObject({ tenant: 'acme', user: 'grace', rights: ['credentials:manage'] });
    await manager.revokeCredential('tenant:registry');
    expect(asked.map(({ verb }) => verb)).toEqual(['key', 'add', 'revoke']);
  });

  it.each(['tracker', 'user:', 'user:UP', 'other:x', 'user:a/b'])('%j is no handle', async (of) => {
    for (const [, ask] of verbs(manager, of)) await expect(ask()).rejects.toMatchObject({ type: 'invalid_request' });
    expect(asked.filter(({ verb }) => verb !== 'key')).toEqual([]);
  });
});

describe('PO-11: when the keeper of credentials says no, or nothing', () => {
  it('its error comes as it is', async () => {
    answers.revoke = new FabricError('credential_missing', 'user:tracker does not exist');
    await expect(alice.revokeCredential(handle)).rejects.toMatchObject({
      type: 'credential_missing',
      message: 'user:tracker does not exist',
    });
  });

  it('one that is not there is said, and not asked for again and again', async () => {
    await expect(alice.testCredential(handle)).rejects.toMatchObject({ type: 'egress_unavailable' });
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['no JSON', 'oops'],
    ['another shape', JSON.stringify({ ok: { handle } })],
    ['nothing', '{}'],
  ])('an answer that is %s is an error without a word of it', async (_what, answer) => {
    answers.revoke = answer;
    await expect(alice.revokeCredential(handle)).rejects.toMatchObject({
      type: 'internal',
      message: expect.not.stringContaining('oops'),
    });
  });

  it('what does not fit is named before anybody is asked', async () => {
    const wrong = { ...NEW, audience: { hosts: ['https://tracker.example.com/'] } };
    await expect(alice.addCredential(wrong)).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(alice.listCredentials({ limit: 101 })).rejects.toMatchObject({ type: 'invalid_request' });
    expect(asked.filter(({ verb }) => verb !== 'key')).toEqual([]);
  });
});
