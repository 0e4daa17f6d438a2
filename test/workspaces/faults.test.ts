import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Workshop } from './support.ts';

/** Deaths are waited for, and stores that are away. */
vi.setConfig({ testTimeout: 90_000 });

let shop: Workshop;
beforeAll(async () => {
  shop = await Workshop.open();
});
afterEach(() => shop.cluster.killAll('cli'));
afterAll(() => shop.stop());

/** A task whose workspace has one file, and that no worker which runs has a copy of but `name`. */
const started = async (name: string, faults = '') => {
  const plain = await shop.worker(name);
  const taskId = await shop.task({ type: 'empty' });
  expect((await shop.make(taskId, 'seed', 's\n')).state).toBe('ok');
  if (faults === '') return { taskId, worker: plain };
  await shop.kill(plain);
  return { taskId, worker: await shop.worker(name, faults) };
};

describe('RE-3: a worker that is killed while it keeps a workspace', () => {
  it.each([
    ['before anything of the snapshot is stored', 'snapshot.storing', 2],
    ['once the snapshot is stored, before the head is moved', 'snapshot.stored', 2],
    ['once the head is moved, before anybody hears of it', 'snapshot.moved', 1],
  ])('%s: the edit happens once, by another worker', async (_when, point, attempt) => {
    const { taskId, worker } = await started(`a-${point}`, `${point}:kill`);
    const calling = shop.make(taskId, 'new', 'n\n');
    expect((await worker.exited).signal).toBe('SIGKILL');
    await shop.worker(`b-${point}`);
    const call = await calling;
    const end = await shop.cluster.waitForState(call.callId, ['ok', 'error']);
    expect(end.result).toMatchObject({ status: 'ok', attempt, sideEffect: 'confirmed', data: { path: 'new' } });
    expect(await shop.read(taskId, 'new')).toBe('n\n');
    expect(await shop.read(taskId, 'seed')).toBe('s\n');
    expect((await shop.make(taskId, 'new', 'other\n')).result?.error?.type).toBe('stale_version');
  });

  it.each([['restore.writing:kill:1'], ['restore.written:kill'], ['restore.swapping:kill']])(
    'while it restores one (%s): the next restore is whole',
    async (faults) => {
      const name = faults.replaceAll(':', '-');
      const { taskId, worker: first } = await started(`a-${name}`);
      await shop.kill(first);
      const second = await shop.worker(`b-${name}`, faults);
      const reading = shop.read(taskId, 'seed');
      expect((await second.exited).signal).toBe('SIGKILL');
      // The same directory: what the dead one left lies there.
      await shop.worker(`b-${name}`);
      expect(await reading).toBe('s\n');
      const staging = join(shop.cluster.directory, `state-b-${name}`, 'staging');
      expect(readdirSync(staging)).toEqual([]);
      expect((await shop.make(taskId, 'more', 'm\n')).state).toBe('ok');
    },
  );
});

describe('protocol 7: a holder that is paused while another one takes over', () => {
  it('cannot move the head any more: its write is not kept, and its call ends once', async () => {
    const { taskId, worker: paused } = await started('a-paused', 'snapshot.stored:pause');
    const home = await shop.homeOf(taskId);
    const calling = shop.make(taskId, 'new', 'n\n');
    await shop.paused(paused);
    await shop.worker('b-paused');
    const call = await calling;
    const end = await shop.cluster.waitForState(call.callId, ['ok', 'error']);
    expect(end.result).toMatchObject({ status: 'ok', attempt: 2 });
    expect((await shop.change(taskId, 'new', 'n\n', 'changed\n')).state).toBe('ok');
    const before = await shop.head(taskId);
    paused.kill('SIGCONT');
    await paused.exited;
    expect(await shop.head(taskId)).toEqual(before);
    expect(await shop.read(taskId, 'new')).toBe('changed\n');
    expect((await shop.cluster.call(call.callId))?.result).toMatchObject({ status: 'ok', attempt: 2 });
    expect((await shop.taskRecord(taskId)).home?.incarnation).not.toBe(home.incarnation);
  });

  it('that wakes before anybody took over goes on', async () => {
    const { taskId, worker } = await started('a-short', 'snapshot.stored:pause');
    const calling = shop.make(taskId, 'new', 'n\n');
    await shop.paused(worker);
    worker.kill('SIGCONT');
    expect(await calling).toMatchObject({ state: 'ok', result: { attempt: 1 } });
  });
});

describe('an artifact store that fails', () => {
  it('is away during an edit and comes back: the edit is kept', async () => {
    const { taskId, worker } = await started('a-away', 'snapshot.storing:pause');
    const calling = shop.make(taskId, 'new', 'n\n');
    await shop.paused(worker);
    await shop.cluster.killAll('artifacts');
    worker.kill('SIGCONT');
    await shop.cluster.ensure('artifacts');
    expect(await calling).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    expect(await shop.read(taskId, 'new')).toBe('n\n');
  });

  it('is away for longer than the call may take: nothing was kept, and the answer says so', async () => {
    const { taskId } = await started('a-long');
    await shop.cluster.killAll('artifacts');
    const call = await shop.make(taskId, 'new', 'n\n');
    expect(call).toMatchObject({ state: 'error', result: { sideEffect: 'none' } });
    expect(['unavailable', 'expired']).toContain(call.result?.error?.type);
    await shop.cluster.ensure('artifacts');
    expect(await shop.readError(taskId, 'new')).toBe('file_not_found');
    expect(await shop.read(taskId, 'seed')).toBe('s\n');
  });

  const blobs = (directory: string): string[] =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));

  it.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['cut short', (file) => truncateSync(file, statSync(file).size - 1)],
    ['changed', (file) => writeFileSync(file, Buffer.alloc(statSync(file).size, 0x21))],
  ])('RT-10: a snapshot whose bytes were %s is workspace_lost on a worker without a copy', async (how, damage) => {
    const { taskId, worker } = await started(`a-${how.replace(' ', '-')}`);
    const before = new Set(blobs(shop.cluster.artifactsDir));
    expect((await shop.make(taskId, 'new', 'n\n')).state).toBe('ok');
    expect(await shop.read(taskId, 'new')).toBe('n\n');
    for (const file of blobs(shop.cluster.artifactsDir)) if (!before.has(file)) damage(file);
    await shop.kill(worker);
    await shop.worker(`b-${how.replace(' ', '-')}`);
    await waitFor(async () => (await shop.readError(taskId, 'new')) === 'workspace_lost', { timeoutMs: 20_000 });
    expect((await shop.make(taskId, 'more', 'm\n')).result?.error).toMatchObject({
      type: 'workspace_lost',
      retryable: false,
    });
  });
});
