import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricEvent } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EventTap } from '../telemetry/event-tap.ts';
import { Workshop } from './support.ts';

/** Deaths are waited for. */
vi.setConfig({ testTimeout: 90_000 });

let shop: Workshop;
let tap: EventTap;
beforeAll(async () => {
  shop = await Workshop.open();
  tap = await EventTap.on(shop.cluster.nats);
});
afterEach(() => shop.cluster.killAll('cli'));
afterAll(async () => {
  await tap.stop();
  await shop.stop();
});

/** Events of one kind about a task, each as often as it was told under another id. */
const toldOf = (taskId: string, type: FabricEvent['type']): FabricEvent[] => [
  ...new Map(
    tap.events.filter((event) => event.taskId === taskId && event.type === type).map((event) => [event.id, event]),
  ).values(),
];

const blobs = (): string[] =>
  readdirSync(join(shop.cluster.artifactsDir, 'acme', 'sha256'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

describe('TR-1: what happens to workers and workspaces stands in the traces of their calls', () => {
  it('RE-3: a worker that died with a call, and the workspace that another one took over', async () => {
    const plain = await shop.worker('told-a');
    const taskId = await shop.task({ type: 'empty' });
    expect((await shop.make(taskId, 'seed', 's\n')).state).toBe('ok');
    const { incarnation } = await shop.homeOf(taskId);
    await shop.kill(plain);
    const first = await shop.worker('told-a', 'snapshot.storing:kill');
    const calling = shop.make(taskId, 'new', 'n\n');
    expect((await first.exited).signal).toBe('SIGKILL');
    await shop.worker('told-b');
    const { callId } = await shop.cluster.waitForState((await calling).callId, ['ok']);
    const moved = await shop.movedFrom(taskId, incarnation);
    const [dead] = await waitFor(async () => {
      const found = toldOf(taskId, 'worker.dead');
      return found.length > 0 && toldOf(taskId, 'workspace.moved').length > 0 ? found : undefined;
    });
    expect(dead).toMatchObject({ id: `${callId}:dead.1`, callId, attributes: { kind: 'cli', claim: 'started' } });
    expect(dead?.attributes['incarnation']).not.toBe(incarnation);
    expect(await shop.read(taskId, 'new')).toBe('n\n');
    expect(toldOf(taskId, 'worker.dead')).toHaveLength(1);
    expect(toldOf(taskId, 'workspace.moved')).toMatchObject([
      { callId, attributes: { workspace: taskId, from: incarnation, to: moved.incarnation } },
    ]);
  });

  it('RT-10: a workspace that was lost', async () => {
    const worker = await shop.worker('lost-a');
    const taskId = await shop.task({ type: 'empty' });
    const before = new Set(blobs());
    expect((await shop.make(taskId, 'new', 'n\n')).state).toBe('ok');
    for (const file of blobs()) if (!before.has(file)) rmSync(file);
    await shop.kill(worker);
    await shop.worker('lost-b');
    await waitFor(async () => (await shop.readError(taskId, 'new')) === 'workspace_lost', { timeoutMs: 20_000 });
    const [lost] = await waitFor(async () => {
      const found = toldOf(taskId, 'workspace.lost');
      return found.length > 0 ? found : undefined;
    });
    expect(lost).toMatchObject({ attributes: { workspace: taskId, tool: 'workspace.read_file' } });
    expect(toldOf(taskId, 'workspace.lost').map(({ callId }) => callId)).toContain(lost?.callId);
  });
});
