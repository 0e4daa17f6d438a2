import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { sha256Hex, uuidv7 } from '@toolfabric/kernel';
import { lifeKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

const WAIT = { waitMs: 30_000, timeoutMs: 45_000 };

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth', 'cli']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'faults' })).taskId;
});
afterAll(() => cluster.stop());

/** Arms the only worker, sends one call, and brings a healthy worker when the armed one is gone. */
const callWithDyingWorker = async (
  app: 'truth' | 'cli',
  faults: string,
  proposal: { tool: string; args: Record<string, string>; taskId?: string },
  options = WAIT,
): Promise<CallView> => {
  const armed = await cluster.arm(app, faults);
  const calling = client.call({ taskId, ...proposal }, options);
  const end = await armed.exited;
  expect(end.signal).toBe('SIGKILL');
  await cluster.ensure(app);
  return calling;
};

const lifeOf = async (incarnation: string) =>
  (await cluster.ledger.lives('truth').get(lifeKey('truth', incarnation)))?.value.state;

const append = (identity: string) => ({ tool: 'truth.append', args: { identity } });
const blind = (identity: string) => ({ tool: 'truth.append_blind', args: { identity } });

describe('RE-3: a worker that is killed', () => {
  it('before the claim: its delivery comes again and runs once', async () => {
    const call = await callWithDyingWorker('truth', 'worker.before-claim:kill', append('before-claim'));
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 1, sideEffect: 'confirmed' } });
    expect(cluster.truth('before-claim')).toHaveLength(1);
  });

  it('while it holds the claim: the next epoch runs, once', async () => {
    const call = await callWithDyingWorker('truth', 'worker.claimed:kill', append('claimed'));
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 2 } });
    expect(cluster.truth('claimed')).toHaveLength(1);
    expect(await cluster.claim('truth', call.callId)).toMatchObject({ state: 'done', epoch: 2 });
  });

  it('after started and before the write, without a fence: stays unknown, nothing is written, nothing is run again', async () => {
    const call = await callWithDyingWorker('truth', 'worker.started:kill', append('started'));
    expect(call.reconciling).toBeUndefined();
    expect(call).toMatchObject({
      state: 'unknown',
      result: { status: 'unknown', sideEffect: 'possible' },
    });
    expect(cluster.truth('started')).toHaveLength(0);
    expect(await cluster.claim('truth', call.callId)).toMatchObject({ state: 'orphaned', epoch: 1 });
  });

  it('RE-2: after the write and before done: found by the probe, ok with the receipt, one effect', async () => {
    const call = await callWithDyingWorker('truth', 'worker.after-write:kill', append('after-write'));
    expect(call).toMatchObject({
      state: 'ok',
      result: { sideEffect: 'confirmed', evidence: [{ ref: 'after-write' }] },
    });
    expect(cluster.truth('after-write')).toHaveLength(1);
  });

  it('RE-2: after the write, where nothing can look: ends unknown and says so', async () => {
    const call = await callWithDyingWorker('truth', 'worker.after-write:kill', blind('blind'));
    expect(call).toMatchObject({ state: 'unknown', result: { status: 'unknown', sideEffect: 'possible' } });
    expect(call.reconciling).toBeUndefined();
    expect(cluster.truth('blind')).toHaveLength(1);
  });

  it('after done and before it published: the redelivery republishes, nothing runs again', async () => {
    const call = await callWithDyingWorker('truth', 'worker.after-done:kill', append('after-done'));
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    expect(cluster.truth('after-done')).toHaveLength(1);
  });

  it('after it published and before it acknowledged: the result stands, nothing runs again', async () => {
    const call = await callWithDyingWorker('truth', 'worker.after-publish:kill', append('after-publish'));
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    await expect
      .poll(async () => (await cluster.ledger.work.has('truth', 1)) === false, { timeout: 10_000 })
      .toBe(true);
    expect(cluster.truth('after-publish')).toHaveLength(1);
  });

  it('in a claimless read: another one reads', async () => {
    const call = await callWithDyingWorker('truth', 'worker.reading:kill', { tool: 'truth.noop', args: {} });
    expect(call).toMatchObject({ state: 'ok', result: { status: 'ok', sideEffect: 'none', attempt: 1 } });
    const result = await cluster.ledger.results.get('truth', 'acme', call.callId, 1);
    expect(await lifeOf(result?.by ?? '')).toBe('alive');
  });

  it('after a claimless read was published: nobody reads again', async () => {
    const call = await callWithDyingWorker('truth', 'worker.after-publish:kill', { tool: 'truth.noop', args: {} });
    expect(call).toMatchObject({ state: 'ok', result: { sideEffect: 'none' } });
    const result = await cluster.ledger.results.get('truth', 'acme', call.callId, 1);
    await expect.poll(() => lifeOf(result?.by ?? ''), { timeout: 10_000 }).toBe('dead');
    await expect.poll(async () => (await client.getCall(call.callId)).state).toBe('ok');
    expect((await cluster.call(call.callId))?.late).toBeUndefined();
  });

  it('three times while it holds the claim: dead letter, with no effect', async () => {
    await cluster.arm('truth', 'worker.claimed:kill');
    const calling = client.call({ taskId, ...append('poison') }, { waitMs: 40_000, timeoutMs: 50_000 });
    let done = false;
    void calling.finally(() => {
      done = true;
    });
    while (!done) {
      const armed = [...cluster.services].find((service) => service.log.some((line) => line.includes('worker-truth')));
      await Promise.race([calling, armed?.exited ?? Promise.resolve()]);
      if (!done) await cluster.arm('truth', 'worker.claimed:kill');
    }
    const call = await calling;
    expect(call).toMatchObject({
      state: 'dead_letter',
      result: { status: 'error', error: { type: 'dead_letter' }, sideEffect: 'none' },
    });
    expect(cluster.truth('poison')).toHaveLength(0);
    await cluster.killAll('truth');
    await cluster.ensure('truth');
  });
});

describe('RE-6: a file write that is interrupted', () => {
  const before = 'one\ntwo\nthree\n';
  const after = 'one\n2\nthree\n';

  const freshFile = async () => {
    const path = join(cluster.workspaceRoot, uuidv7());
    mkdirSync(path);
    writeFileSync(join(path, 'a.txt'), before);
    const task = await client.createTask(
      { title: 'edit', workspace: { type: 'existing', path } },
      { timeoutMs: 20_000 },
    );
    const args = { path: 'a.txt', old_text: 'two', new_text: '2', expected_sha256: sha256Hex(before) };
    return { file: join(path, 'a.txt'), proposal: { taskId: task.taskId, tool: 'workspace.edit_file', args } };
  };

  it('before the write: the lock proves that nothing happens any more, and the edit is made by the next epoch', async () => {
    await cluster.ensure('cli');
    const { file, proposal } = await freshFile();
    const call = await callWithDyingWorker('cli', 'worker.started:kill', proposal);
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 2, sideEffect: 'confirmed' } });
    expect(readFileSync(file, 'utf8')).toBe(after);
  });

  it('after the write: found by the hash of the file, ok, written once', async () => {
    await cluster.ensure('cli');
    const { file, proposal } = await freshFile();
    const call = await callWithDyingWorker('cli', 'worker.after-write:kill', proposal);
    expect(call).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
    expect(readFileSync(file, 'utf8')).toBe(after);
    expect(await cluster.claim('cli', call.callId)).toMatchObject({ epoch: 1, state: 'done' });
  });
});
