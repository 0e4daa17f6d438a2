import { contractDigests, parseContract } from '@toolfabric/catalogue';
import type { FabricClient } from '@toolfabric/client';
import type { RegistryRecord } from '@toolfabric/contract';
import { toolKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TRUTH_CONTRACTS } from '../peers/truth/src/contracts.ts';
import { Cluster } from '../support/cluster.ts';

const MANY = 150;

let cluster: Cluster;
let client: FabricClient;

/** A contract of the truth pool under another name. */
const contractOf = (name: string, version: string, changes: { description?: string; input?: object } = {}) => {
  const base = TRUTH_CONTRACTS.find((contract) => contract.name === 'truth.noop');
  if (!base) throw new Error('there is no such contract');
  const description = changes.description ?? base.capability.description;
  const capability = { ...base.capability, intent: name, description };
  return parseContract({ ...base, name, version, capability, input: changes.input ?? base.input });
};

const publish = async (contract: ReturnType<typeof contractOf>): Promise<void> => {
  const record: RegistryRecord = { contract, state: 'published', ...contractDigests(contract), publishedAt: 0 };
  await cluster.ledger.registry.create(toolKey(contract.name, contract.version), record);
};

const numbered = (n: number) => `many.tool_${String(n).padStart(3, '0')}`;
const text = (n: number) => `Number ${n}. ${'This tool exists to be listed. '.repeat(140)}`.slice(0, 4_000);

beforeAll(async () => {
  cluster = await Cluster.start();
  for (let n = 0; n < MANY; n += 1) await publish(contractOf(numbered(n), '1.0.0', { description: text(n) }));
  for (const version of ['1.9.0', '1.10.0', '2.0.0']) await publish(contractOf('many.versions', version));
  const properties = Object.fromEntries(
    Array.from({ length: 37 }, (_, n) => [`p${n}`, { type: 'string', description: 'd'.repeat(4_000) }]),
  );
  const input = { type: 'object', additionalProperties: false, properties };
  await publish(contractOf('many.huge', '1.0.0', { description: text(0), input }));
  await Promise.all((['router', 'gateway', 'truth'] as const).map((app) => cluster.ensure(app)));
  client = cluster.client();
}, 60_000);
afterAll(() => cluster.stop());

describe('a catalogue that no message holds', () => {
  it('is listed whole: every tool once, in order, with its whole description', async () => {
    const { tools, catalogueDigest } = await client.listTools();
    const many = tools.filter(({ name }) => name.startsWith('many.tool_'));
    expect(many.map(({ name }) => name)).toEqual(Array.from({ length: MANY }, (_, n) => numbered(n)));
    expect(many.every(({ description }, n) => description === text(n))).toBe(true);
    expect(tools.map(({ name }) => name)).toContain('workspace.read_file');
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    expect(catalogueDigest).toBe((await client.listTools({ allStates: true })).catalogueDigest);
  });

  it('is listed with every version in order of versions', async () => {
    const { tools } = await client.listTools({ allStates: true });
    const versions = tools.filter(({ name }) => name === 'many.versions').map(({ version }) => version);
    expect(versions).toEqual(['1.9.0', '1.10.0', '2.0.0']);
    expect(new Set(tools.map(({ name, version }) => `${name}@${version}`)).size).toBe(tools.length);
  });

  it('that shrinks between two pages is listed on from the same place', async () => {
    const router = await cluster.nats.connectAsGateway();
    const ask = async (after: string) => {
      const body = JSON.stringify({ actor: { tenant: 'acme', user: 'ada', agent: 'coder' }, after });
      return JSON.parse(await router.request('listTools', body, 5_000)) as { ok: { tools: { name: string }[] } };
    };
    const known = await ask(`${numbered(9)}@1.0.0`);
    expect(known.ok.tools[0]?.name).toBe(numbered(10));
    const gone = await ask('many.tool_009a@1.0.0');
    expect(gone.ok.tools[0]?.name).toBe(numbered(10));
  });
});

describe('an answer that no message holds', () => {
  it('is a typed error, and the router goes on', async () => {
    const router = await cluster.ensure('router');
    await expect(client.describeTool('many.huge')).rejects.toMatchObject({ type: 'too_large' });
    expect((await client.describeTool(numbered(1))).summary.name).toBe(numbered(1));
    expect(cluster.services.has(router)).toBe(true);
    const { taskId } = await client.createTask({ title: 'goes on' });
    expect((await client.call({ taskId, tool: numbered(1), args: {} })).state).toBe('ok');
  });
});
