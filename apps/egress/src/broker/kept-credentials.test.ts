import { randomUUID } from 'node:crypto';
import type { CredentialDraft, EgressRule } from '@toolfabric/contract';
import { sealToKey } from '@toolfabric/kernel';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANN, type BrokerEgress, openBrokerEgress } from '../testing/open-broker.ts';
import { permitFor } from '../testing/open-egress.ts';
import { busPlaceOf, keptOf } from '../testing/open-oauth.ts';
import { spawnKeeper } from '../testing/spawn-keeper.ts';
import { generateVaultKey } from '../vault/vault-keys.ts';
import { MOST_CREDENTIALS } from './kept-credentials.ts';
import { recordPlace, secretsPlace } from './places.ts';

const keys = generateVaultKey();
let nats: TestNats;
let left: BrokerEgress;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  left = await openBrokerEgress(busPlaceOf(nats), keys, {});
});
afterAll(async () => {
  await left?.stop();
  await nats?.stop();
});

const about = (): Omit<CredentialDraft, 'sealed'> => ({
  handle: `user:${randomUUID().slice(0, 8)}`,
  account: 'ann at the api',
  audience: { hosts: ['api.corp'] },
  inject: { type: 'header', header: 'Authorization', template: 'Bearer {secret}' },
  kind: 'static',
});
const addition = async (draft: Omit<CredentialDraft, 'sealed'>, secret: string) => {
  const sealed = sealToKey(JSON.stringify({ secret }), await left.ask('key', {}), draft.handle);
  return { by: ANN, draft: { ...draft, sealed } };
};
/** Asks a process that is killed at that point. */
const dieAt = async (point: string, verb: 'add' | 'revoke', request: unknown) => {
  const keeper = await spawnKeeper({ bus: busPlaceOf(nats), keys, faults: `${point}:kill` });
  keeper.ask(verb, request);
  expect(await keeper.exited).toBe('SIGKILL');
};

const standing = async (handle: string) =>
  (await left.ask('list', { by: ANN, limit: 100 })).credentials.find((one) => one.handle === handle);
const shownFor = async (handle: string) => {
  const rule: EgressRule = { host: 'api.corp', scheme: 'https', ports: [443], credential: handle };
  const use = { host: 'api.corp', port: 443, method: 'GET', path: '/' };
  const asked = left.broker.source.headersFor(permitFor([rule]), rule, use, AbortSignal.timeout(15_000));
  return asked.then(
    ({ headers }) => headers['authorization'],
    (thrown: { reason: string }) => thrown.reason,
  );
};
/** How many sealed texts lie in the vault. */
const sealedTexts = async () => (await left.vault.keys('credential')).length;

describe('PO-11: a keeper that dies half way', () => {
  it('after it stored the first secret: there is no credential, and adding it again makes one', async () => {
    const [draft, before] = [about(), await sealedTexts()];
    await dieAt('egress.secrets-stored', 'add', await addition(draft, 'first'));
    expect(await standing(draft.handle)).toBeUndefined();
    expect(await shownFor(draft.handle)).toBe('credential_unavailable');
    expect(await left.ask('add', await addition(draft, 'again'))).toMatchObject({ state: 'active' });
    expect(await shownFor(draft.handle)).toBe('Bearer again');
    expect(await sealedTexts()).toBe(before + 1);
  });

  it('again and again after it stored a secret: what it left is in nobody’s way, and goes', async () => {
    const [draft, before] = [about(), await sealedTexts()];
    await left.ask('add', await addition(draft, 'first'));
    const record = await standing(draft.handle);
    if (record === undefined) throw new Error('nothing was added');
    const key = secretsPlace(record);
    const value = (await left.vault.get(key))?.value;
    if (value === undefined) throw new Error('nothing is sealed');
    for (let version = 2; version <= 20; version += 1)
      await left.vault.create(secretsPlace({ ...record, version }), value);
    expect(await left.ask('add', await addition(draft, 'again'))).toMatchObject({ version: 21 });
    expect(await shownFor(draft.handle)).toBe('Bearer again');
    expect(await sealedTexts()).toBe(before + 1);
  });

  it('after it stored the next secret: the one before stays good, and the next one can be given again', async () => {
    const [draft, before] = [about(), await sealedTexts()];
    await left.ask('add', await addition(draft, 'first'));
    await dieAt('egress.secrets-stored', 'add', await addition(draft, 'second'));
    expect(await standing(draft.handle)).toMatchObject({ state: 'active', version: 1 });
    expect(await shownFor(draft.handle)).toBe('Bearer first');
    await left.ask('add', await addition(draft, 'third'));
    expect(await shownFor(draft.handle)).toBe('Bearer third');
    expect(await sealedTexts()).toBe(before + 1);
  });

  it('after it stored the record of the next secret: that one is good, and the old one goes with the credential', async () => {
    const [draft, before] = [about(), await sealedTexts()];
    await left.ask('add', await addition(draft, 'first'));
    await dieAt('egress.credential-stored', 'add', await addition(draft, 'second'));
    expect(await standing(draft.handle)).toMatchObject({ state: 'active', version: 2 });
    expect(await shownFor(draft.handle)).toBe('Bearer second');
    await left.ask('revoke', { by: ANN, handle: draft.handle });
    expect(await sealedTexts()).toBe(before);
  });

  it('after it stored that a credential is revoked: it is, and saying so again takes the secret away', async () => {
    const [draft, before] = [about(), await sealedTexts()];
    await left.ask('add', await addition(draft, 'first'));
    await dieAt('egress.credential-stored', 'revoke', { by: ANN, handle: draft.handle });
    expect(await standing(draft.handle)).toMatchObject({ state: 'revoked' });
    expect(await shownFor(draft.handle)).toBe('credential_unavailable');
    await left.ask('revoke', { by: ANN, handle: draft.handle });
    expect(await sealedTexts()).toBe(before);
  });
});

describe('PO-11: how many credentials there may be', () => {
  it('of one user or one tenant, and no other is kept from adding theirs', async () => {
    const by = { ...ANN, user: 'full' };
    const { record } = keptOf('https://login.example.com', { user: by.user });
    const handles = Array.from({ length: MOST_CREDENTIALS }, (_, i): CredentialDraft['handle'] => `user:full-${i}`);
    await Promise.all(handles.map((handle) => left.credentials.create(recordPlace(by, handle), { ...record, handle })));
    const one = about();
    await expect(left.ask('add', { ...(await addition(one, 'more')), by })).rejects.toMatchObject({
      type: 'invalid_request',
    });
    expect(await left.ask('add', await addition(one, 'more'))).toMatchObject({ state: 'active' });
    const again = { ...about(), handle: handles[0] ?? one.handle };
    expect(await left.ask('add', { ...(await addition(again, 'anew')), by })).toMatchObject({ state: 'active' });
  });
});
