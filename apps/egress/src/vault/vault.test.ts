import { connectEgress, type EgressBus } from '@toolfabric/bus-nats';
import { createLogger, systemClock } from '@toolfabric/kernel';
import type { Store } from '@toolfabric/ports';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resealAll } from './reseal.ts';
import { Secrets } from './secrets.ts';
import { Vault } from './vault.ts';
import { generateVaultKey, parseVaultKeys } from './vault-keys.ts';
import { VaultRecord } from './vault-record.ts';

const [OLD, NEW] = [generateVaultKey(), generateVaultKey()];
const CANARY = 'vault-canary';
let nats: TestNats;
let bus: EgressBus;
let store: Store<VaultRecord>;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  bus = await connectEgress({
    servers: [nats.url],
    nkeySeed: nats.seeds['egress'] ?? '',
    publicKeys: nats.busKeys,
    name: 'egress',
  });
  store = bus.vault(VaultRecord);
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

const vaultOf = (keys: string) => new Vault(store, parseVaultKeys(keys), Secrets, systemClock);

describe('PO-11: the vault', () => {
  it('stores what only its keys open, each record with a nonce of its own', async () => {
    const vault = vaultOf(OLD);
    await vault.create('a.one', { secret: CANARY });
    await vault.create('a.two', { secret: CANARY });
    const [one, two] = await Promise.all(['a.one', 'a.two'].map(async (key) => (await store.get(key))?.value));
    expect(JSON.stringify([one, two])).not.toContain(CANARY);
    expect(one?.nonce).not.toBe(two?.nonce);
    expect((await vault.read('a.one'))?.secrets).toEqual({ secret: CANARY });
    expect(await vault.create('a.one', { secret: 'other' })).toBe(false);
  });

  it('does not open a record that was moved, changed, or sealed with a key that it does not have', async () => {
    const vault = vaultOf(OLD);
    await vault.create('b.one', { secret: CANARY });
    const { value } = (await store.get('b.one')) ?? {};
    if (value === undefined) throw new Error('nothing is stored');
    await store.create('b.moved', value);
    await store.create('b.changed', { ...value, text: `A${value.text.slice(1)}` });
    await store.create('b.short', { ...value, text: 'AAAA' });
    for (const place of ['b.moved', 'b.changed', 'b.short']) {
      const reading = vault.read(place);
      await expect(reading).rejects.toMatchObject({ type: 'internal' });
      await expect(reading).rejects.not.toThrow(CANARY);
    }
    await expect(vaultOf(NEW).read('b.one')).rejects.toMatchObject({ type: 'internal' });
  });

  it('opens with old keys and seals with the newest', async () => {
    await vaultOf(OLD).create('c.one', { secret: CANARY });
    const both = vaultOf(`# newest first\n${NEW}\n${OLD}\n`);
    expect((await both.read('c.one'))?.secrets).toEqual({ secret: CANARY });
    await both.put('c.one', { secret: 'next' });
    expect((await vaultOf(NEW).read('c.one'))?.secrets).toEqual({ secret: 'next' });
    await expect(vaultOf(OLD).read('c.one')).rejects.toMatchObject({ type: 'internal' });
  });

  it('is sealed anew with the newest key, by several at once, and what nobody opens is told', async () => {
    const old = vaultOf(OLD);
    for (const place of ['e.one', 'e.two', 'e.leased']) await old.create(place, { secret: CANARY });
    const leased = await old.read('e.leased');
    if (leased === undefined) throw new Error('nothing is stored');
    await old.mark('e.leased', leased, { lease: 'held' });
    await vaultOf(generateVaultKey()).create('e.strange', { secret: CANARY });
    const told: string[] = [];
    const log = createLogger('egress', (line) => told.push(line));
    const keys = parseVaultKeys(`${NEW}\n${OLD}`);
    const signal = new AbortController().signal;
    await Promise.all([1, 2].map(() => resealAll({ store, keys, log, signal }, 'e')));
    const now = vaultOf(NEW);
    for (const place of ['e.one', 'e.two', 'e.leased'])
      expect((await now.read(place))?.secrets).toEqual({ secret: CANARY });
    expect((await now.read('e.leased'))?.record.lease).toBe('held');
    expect(told.join()).toContain('"unopened":1');
    expect(told.join()).not.toContain(CANARY);
    const { revision } = (await store.get('e.one')) ?? {};
    await resealAll({ store, keys, log, signal }, 'e');
    expect((await store.get('e.one'))?.revision).toBe(revision);
  });

  it('gives a lease to one, and takes the end of nobody who lost it', async () => {
    const vault = vaultOf(OLD);
    await vault.create('d.one', { secret: CANARY });
    const opened = await vault.read('d.one');
    if (opened === undefined) throw new Error('nothing is stored');
    const marked = await Promise.all(['x', 'y'].map((lease) => vault.mark('d.one', opened, { lease })));
    expect(marked.filter(Boolean)).toHaveLength(1);
    const [held, lost] = marked[0] ? ['x', 'y'] : ['y', 'x'];
    expect(await vault.release('d.one', lost ?? '', { secrets: { secret: 'lost' } }, 1_000)).toBe(false);
    expect(await vault.release('d.one', held ?? '', { secrets: { secret: 'won' } }, 1_000)).toBe(true);
    const after = await vault.read('d.one');
    expect(after).toMatchObject({ secrets: { secret: 'won' } });
    expect(after?.record.lease).toBeUndefined();
    expect(await vault.take('d.one', opened)).toBe(false);
  });
});
