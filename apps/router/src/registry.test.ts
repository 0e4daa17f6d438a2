import type { LedgerBus } from '@toolfabric/bus-nats';
import { contractDigests, loadBuiltinContracts } from '@toolfabric/catalogue';
import type { RegistryRecord, ToolContract } from '@toolfabric/contract';
import { type Logger, silentLogger, systemClock } from '@toolfabric/kernel';
import { toolKey } from '@toolfabric/ledger';
import { resolveTool } from '@toolfabric/routing';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Registry } from './registry.ts';
import { sampleContract } from './testing/sample-contract.ts';

let nats: TestNats;
let bus: LedgerBus;
beforeEach(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
});
afterEach(() => nats.stop());

const registry = (log: Logger = silentLogger) => new Registry(bus.registry, systemClock, log);
const keyOf = ({ name, version }: ToolContract) => toolKey(name, version);
const store = async (contract: ToolContract, state: RegistryRecord['state'] = 'published') => {
  const key = keyOf(contract);
  const record: RegistryRecord = { contract, state, ...contractDigests(contract) };
  const stored = await bus.registry.get(key);
  await (stored ? bus.registry.update(key, record, stored.revision) : bus.registry.create(key, record));
};
const names = (of: Registry) => of.records.map(({ contract }) => contract.name).sort();

describe('a seed', () => {
  const builtin = loadBuiltinContracts();

  it('RG-3: publishes what is not there, and is idempotent', async () => {
    const own = registry();
    await own.seed(builtin);
    const revision = await bus.registry.lastRevision();
    await own.refresh();
    const first = own.records;
    expect(first.every(({ state }) => state === 'published')).toBe(true);
    expect(names(own)).toEqual(builtin.map(({ name }) => name).sort());
    await registry().seed(builtin);
    await own.seed(builtin);
    expect(await bus.registry.lastRevision()).toBe(revision);
    await own.refresh();
    expect(own.records).toBe(first);
  });

  it('RG-3: by two routers at once stores each contract once', async () => {
    await Promise.all([registry().seed(builtin), registry().seed(builtin)]);
    expect(await bus.registry.keys('tool')).toHaveLength(builtin.length);
  });

  it('RG-3: keeps a version that has other content, and says so', async () => {
    const said: unknown[] = [];
    const log: Logger = { ...silentLogger, error: (event, fields) => said.push([event, fields]) };
    const other = sampleContract({ description: 'Finds notes in some other way than the contract of the seed does.' });
    await store(other, 'deprecated');
    await registry(log).seed([sampleContract()]);
    const kept = await bus.registry.get(keyOf(other));
    expect(kept?.value).toMatchObject({ state: 'deprecated', contract: other });
    expect(said).toEqual([['registry.other_content', { tool: 'notes.find', version: '1.0.0' }]]);
  });

  it('RG-3: does not publish again what was deprecated or retired since', async () => {
    const said: unknown[] = [];
    for (const state of ['deprecated', 'retired'] as const) {
      await store(sampleContract(), state);
      await registry({ ...silentLogger, error: (event) => said.push(event) }).seed([sampleContract()]);
      expect((await bus.registry.get(keyOf(sampleContract())))?.value.state).toBe(state);
    }
    expect(said).toEqual([]);
  });
});

describe('a refresh', () => {
  it('sees what another router changed, and reads nothing when nothing changed', async () => {
    const own = registry();
    await own.refresh();
    expect(own.records).toEqual([]);
    const empty = own.catalogueDigest;
    await store(sampleContract());
    expect(own.records).toEqual([]);
    await own.refresh();
    expect(resolveTool(own.index, 'notes.find').contract.version).toBe('1.0.0');
    const digest = own.catalogueDigest;
    expect(digest).not.toBe(empty);
    const { records } = own;
    await own.refresh();
    expect(own.records).toBe(records);

    await store(sampleContract({ version: '1.1.0' }));
    await store(sampleContract(), 'retired');
    await own.refresh();
    expect(resolveTool(own.index, 'notes.find').contract.version).toBe('1.1.0');
    expect(() => resolveTool(own.index, 'notes.find@1.0.0')).toThrow('retired');
    expect(own.catalogueDigest).not.toBe(digest);
  });

  it('RG-3: changes the digest of the catalogue with each move of the life cycle, in every router alike', async () => {
    const [own, other] = [registry(), registry()];
    const seen: string[] = [];
    for (const state of ['draft', 'published', 'deprecated', 'retired'] as const) {
      await store(sampleContract(), state);
      await Promise.all([own.refresh(), other.refresh()]);
      expect(other.catalogueDigest).toBe(own.catalogueDigest);
      seen.push(own.catalogueDigest);
    }
    expect(new Set(seen).size).toBe(4);
  });

  it('reads all of a catalogue that is larger than one round of reads', async () => {
    const contracts = Array.from({ length: 70 }, (_, n) => sampleContract({ name: `notes.find_${n}` }));
    const own = registry();
    await own.seed(contracts);
    await own.refresh();
    expect(names(own)).toEqual(contracts.map(({ name }) => name).sort());
  });

  it('that fails leaves what was known', async () => {
    const own = registry();
    await own.seed([sampleContract()]);
    await own.refresh();
    await bus.close();
    await expect(own.refresh()).rejects.toThrow();
    expect(names(own)).toEqual(['notes.find']);
  });
});

describe('the check of arguments', () => {
  it('RT-4: is compiled once a digest, and never that of another version', async () => {
    const own = registry();
    const [one, two] = [sampleContract(), sampleContract({ version: '2.0.0' })];
    await own.seed([one, two]);
    await own.refresh();
    const [first, second] = ['notes.find@1.0.0', 'notes.find@2.0.0'].map((name) => resolveTool(own.index, name));
    if (!first || !second) throw new Error('both versions were published');
    const check = own.inputCheck(first);
    expect(own.inputCheck({ ...first })).toBe(check);
    expect(own.inputCheck(second)).not.toBe(check);
    expect(check({ text: 'a' })).toEqual([]);
    expect(check({ most: 0 }).map(({ field }) => field)).toEqual(expect.arrayContaining(['/text', '/most']));
  });
});
