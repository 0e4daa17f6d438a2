import type { FabricClient } from '@toolfabric/client';
import { type LifeSign, MAX_EPOCH, type RegistryRecord } from '@toolfabric/contract';
import { lifeKey, toolKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

/** Records of a later version, or of a fault: each hides itself, and nothing else. */
const LATER = { version: 99 };

let cluster: Cluster;
let client: FabricClient;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.ledger.registry.create(toolKey('workspace.read_file', '1.0.0'), LATER as unknown as RegistryRecord);
  await cluster.ledger.registry.create(toolKey('nobody.knows', '1.0.0'), LATER as unknown as RegistryRecord);
}, 60_000);
afterAll(() => cluster.stop());

const names = async () => (await client.listTools()).tools.map(({ name }) => name);

describe('an unreadable record of the registry', () => {
  it('keeps no router from starting: it hides itself, and the other contracts are published', async () => {
    await Promise.all((['router', 'gateway', 'truth'] as const).map((app) => cluster.ensure(app)));
    client = cluster.client();
    expect(await names()).toEqual(expect.arrayContaining(['workspace.edit_file', 'workspace.list_files']));
    expect(await names()).not.toContain('workspace.read_file');
    const { taskId } = await client.createTask({ title: 'hidden' });
    const view = await client.call({ taskId, tool: 'workspace.read_file', args: { path: 'a' } });
    expect(view).toMatchObject({ state: 'refused', result: { error: { type: 'unknown_tool' } } });
  });

  it('keeps no router from seeing what is published later', async () => {
    await cluster.publishTruth();
    await expect.poll(names, { timeout: 10_000 }).toContain('truth.append');
    const key = toolKey('truth.append_blind', '1.0.0');
    const stored = await cluster.ledger.registry.get(key);
    if (!stored) throw new Error('there is no such contract');
    const record = { ...stored.value, ...LATER } as RegistryRecord;
    const revision = await cluster.ledger.registry.update(key, record, stored.revision);
    await expect.poll(names, { timeout: 10_000 }).not.toContain('truth.append_blind');
    expect(await names()).toContain('truth.append');
    await cluster.ledger.registry.update(key, stored.value, revision);
    await expect.poll(names, { timeout: 10_000 }).toContain('truth.append_blind');
  });
});

describe('RE-3: an unreadable life sign', () => {
  it('does not keep the death of another worker from being seen, nor calls from their workers', async () => {
    const { taskId } = await client.createTask({ title: 'lives' });
    const key = lifeKey('truth', 'truth-later');
    await cluster.ledger.lives('truth').create(key, LATER as unknown as LifeSign);
    const armed = await cluster.arm('truth', 'worker.claimed:kill');
    const calling = client.call(
      { taskId, tool: 'truth.append', args: { identity: 'beside' } },
      { waitMs: 30_000, timeoutMs: 45_000 },
    );
    expect((await armed.exited).signal).toBe('SIGKILL');
    await cluster.ensure('truth');
    const view = await calling;
    expect(view).toMatchObject({ state: 'ok', result: { attempt: 2 } });
    expect(view.result?.attempt).toBeLessThanOrEqual(MAX_EPOCH);
    expect(cluster.truth('beside')).toHaveLength(1);
    await expect(cluster.ledger.lives('truth').get(key)).rejects.toMatchObject({ name: 'FabricError' });
  });
});
