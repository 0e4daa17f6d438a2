import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallRecord } from '@toolfabric/contract';
import { sha256Hex, uuidv7 } from '@toolfabric/kernel';
import { callToken, openKey, probeCallId } from '@toolfabric/ledger';
import { type RawUser, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let worker: RawUser;
let provisioner: RawUser;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'cli']);
  client = cluster.client();
  [worker, provisioner] = [await cluster.nats.connectRaw('worker-cli'), await cluster.nats.connectRaw('provisioner')];
}, 60_000);
beforeEach(() => cluster.ensure('cli'));
afterAll(() => cluster.stop());

const BEFORE = 'one\n';
const AFTER = 'two\n';

/** An edit of a fresh file, behind the lock of its workspace: what a probe does not find is safe to run again. */
const startEdit = async (faults: string): Promise<{ callId: string; file: string }> => {
  const path = join(cluster.workspaceRoot, uuidv7());
  mkdirSync(path);
  writeFileSync(join(path, 'a.txt'), BEFORE);
  const workspace = { type: 'existing' as const, path };
  const { taskId } = await client.createTask({ title: 'edit', workspace }, { timeoutMs: 20_000 });
  const args = { path: 'a.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex(BEFORE) };
  const armed = await cluster.arm('cli', faults);
  const { callId } = await client.startCall({ taskId, tool: 'workspace.edit_file', args });
  expect((await armed.exited).signal).toBe('SIGKILL');
  return { callId, file: join(path, 'a.txt') };
};

const stateAt = (callId: string, state: string, epoch: number): Promise<CallRecord> =>
  waitFor(
    async () => {
      const call = await cluster.call(callId);
      return call?.state === state && call.epoch === epoch ? call : undefined;
    },
    { timeoutMs: 20_000, what: `${callId} to be ${state} at epoch ${epoch}` },
  );
const askedOf = async (callId: string) => (await cluster.call(callId))?.probe?.asked ?? 0;

/** Resolves when the router has taken in and acknowledged what stands at `sequence` of the results. */
const takenIn = (sequence: number) =>
  waitFor(
    async () => {
      const { text } = await provisioner.request('$JS.API.CONSUMER.INFO.RESULTS_CLI.router', '', 2_000);
      const info = JSON.parse(text) as { ack_floor: { stream_seq: number } };
      return info.ack_floor.stream_seq >= sequence;
    },
    { timeoutMs: 15_000, what: 'the result to be taken in' },
  );

/** The answer to a question once more, as a lost acknowledgement brings it again. */
const answerAgain = async (callId: string, n: number): Promise<void> => {
  const probe = probeCallId(callId, n);
  const answer = await cluster.ledger.results.get('cli', ADA.tenant, probe, 1);
  if (!answer) throw new Error('there is no such answer');
  const subject = `result.cli.${ADA.tenant}.${callToken(probe)}.1`;
  const { text } = await worker.request(subject, JSON.stringify(answer), 5_000);
  await takenIn((JSON.parse(text) as { seq: number }).seq);
};

describe('RE-2: a call that is unknown a second time', () => {
  it('is not settled by the answer to a question about its first run', async () => {
    const { callId, file } = await startEdit('worker.started:kill');
    await stateAt(callId, 'unknown', 1);
    const second = await cluster.arm('cli', 'worker.started:kill');
    expect((await second.exited).signal).toBe('SIGKILL');
    await stateAt(callId, 'unknown', 2);
    const answered = await lastAnswered(callId);
    await waitFor(async () => (await askedOf(callId)) > answered, { timeoutMs: 10_000, what: 'a new question' });

    for (let n = 1; n <= answered; n += 1) await answerAgain(callId, n);
    expect(await cluster.call(callId)).toMatchObject({ state: 'unknown', epoch: 2 });
    expect(await cluster.claim('cli', callId)).toMatchObject({ state: 'orphaned', epoch: 2 });
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);

    await cluster.ensure('cli');
    const end = await cluster.waitForState(callId, ['ok', 'error', 'expired', 'dead_letter']);
    expect(end).toMatchObject({ state: 'ok', epoch: 3, result: { attempt: 3, sideEffect: 'confirmed' } });
    expect(readFileSync(file, 'utf8')).toBe(AFTER);
  });
});

describe('RE-3: a call that is run again', () => {
  it('is in sight of the sweep again, although its entry was gone', async () => {
    const { callId, file } = await startEdit('worker.started:kill');
    await stateAt(callId, 'unknown', 1);
    await waitFor(async () => (await askedOf(callId)) > 0);
    const key = openKey(ADA.tenant, callId);
    await waitFor(async () => {
      const entry = await cluster.ledger.open.get(key);
      return entry && cluster.ledger.open.remove(key, entry.revision);
    });
    // It answers the probe, and dies again over the next run: only the sweep can go on from there.
    const second = await cluster.arm('cli', 'worker.claimed:kill');
    expect((await second.exited).signal).toBe('SIGKILL');
    expect(await cluster.call(callId)).toMatchObject({ state: 'queued', epoch: 2 });
    expect(await cluster.ledger.open.get(key)).toBeDefined();
    await cluster.ensure('cli');
    const end = await cluster.waitForState(callId, ['ok', 'error', 'expired', 'dead_letter']);
    expect(end).toMatchObject({ state: 'ok', epoch: 3 });
    expect(readFileSync(file, 'utf8')).toBe(AFTER);
    await waitFor(async () => (await cluster.ledger.open.get(key)) === undefined, { what: 'the entry to be closed' });
  });
});

/** The last question that got an answer. */
const lastAnswered = async (callId: string): Promise<number> => {
  for (let n = await askedOf(callId); n > 0; n -= 1)
    if (await cluster.ledger.results.get('cli', ADA.tenant, probeCallId(callId, n), 1)) return n;
  throw new Error('no question was answered');
};
