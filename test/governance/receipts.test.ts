import type { FabricClient } from '@toolfabric/client';
import type { CallRecord } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { armTracker, disarmTracker, setTracker } from '../peers/tracker/src/client.ts';
import type { FaultMode } from '../peers/tracker/src/modes.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'tracker', 'egress', 'web']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'receipts' })).taskId;
}, 60_000);
beforeEach(async () => {
  await Promise.all([cluster.ensure('router'), cluster.ensure('tracker'), cluster.ensure('web')]);
  await disarmTracker(cluster.trackerAddress);
});
afterAll(() => cluster.stop());

const ENDS = ['ok', 'error', 'expired', 'cancelled', 'dead_letter', 'denied'];
const written = (key: string) => commentsIn(cluster.trackerFile, key).length;

let count = 0;
const keyFor = (name: string): string => {
  count += 1;
  return `${name}-${count}`;
};

const arm = (mode: FaultMode | 'none', delayMs = 0) =>
  mode === 'none' ? Promise.resolve() : armTracker(cluster.trackerAddress, { mode, delayMs });

const startGranted = async (tool: string, key: string, deadlineMs?: number): Promise<string> => {
  const args = { number: 4821, body: `verdict ${key}`, key };
  const { callId } = await client.startCall({
    taskId,
    tool,
    args,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  await cluster.grant(callId);
  return callId;
};

/** The probe was answered at least `times`, and the call is as unknown as before. */
const staysUnknown = async (callId: string, last: string, times = 2): Promise<CallRecord> => {
  const call = await waitFor(
    async () => {
      const now = await cluster.call(callId);
      return (now?.probe?.asked ?? 0) > times && now?.probe?.last !== undefined ? now : undefined;
    },
    { timeoutMs: 20_000, what: `${callId} to be asked about` },
  );
  expect(call).toMatchObject({
    state: 'unknown',
    probe: { last },
    result: { status: 'unknown', sideEffect: 'possible' },
  });
  return call;
};

const endsOnce = async (callId: string, key: string): Promise<CallRecord> => {
  const end = await cluster.waitForState(callId, ENDS);
  const [comment] = commentsIn(cluster.trackerFile, key);
  expect(end).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
  expect(end.result?.evidence?.map(({ ref }) => ref)).toContain(comment?.id);
  expect(written(key)).toBe(1);
  return end;
};

describe('RE-2: a receipt that is lost, at a tracker that does not know repeated requests', () => {
  beforeEach(() => setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 }));

  it.each(['none', 'drop_receipt', 'error_after', 'duplicate_answer'] as const)(
    '%s: ok, and one comment',
    async (mode) => {
      const key = keyFor(mode);
      await arm(mode);
      const callId = await startGranted('issue.comment', key);
      const end = await endsOnce(callId, key);
      expect(end.epoch).toBe(1);
      if (mode === 'drop_receipt' || mode === 'error_after') expect(end.unknownAt).toBeDefined();
    },
  );

  it.each(['drop_request', 'error_before'] as const)(
    '%s: nothing is there and nothing is run again: unknown, for a person',
    async (mode) => {
      const key = keyFor(mode);
      await arm(mode);
      const callId = await startGranted('issue.comment', key);
      const call = await staysUnknown(callId, 'absent');
      expect(call.epoch).toBe(1);
      expect(written(key)).toBe(0);
    },
  );

  it('a write that comes late, after the first questions: ok, and one comment', async () => {
    const key = keyFor('late');
    await arm('delay_write', 3_000);
    const callId = await startGranted('issue.comment', key);
    await waitFor(async () => (await cluster.claim('web', callId))?.state === 'started', { timeoutMs: 20_000 });
    await client.cancelCall(callId);
    await cluster.waitForState(callId, ['unknown']);
    expect(written(key)).toBe(0);
    await endsOnce(callId, key);
  });

  it('while the search lags behind, not found yet is not absent', async () => {
    const key = keyFor('lag');
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    await arm('drop_receipt');
    const callId = await startGranted('issue.comment', key);
    await staysUnknown(callId, 'not_visible');
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    await endsOnce(callId, key);
  });

  it('a refusal in so many words is an error without effect, and the operation is free', async () => {
    const key = keyFor('refused');
    await arm('rate_limited');
    const callId = await startGranted('issue.comment', key);
    const end = await cluster.waitForState(callId, [...ENDS, 'unknown']);
    expect(end).toMatchObject({
      state: 'error',
      result: { sideEffect: 'none', error: { type: 'overloaded', retryable: true, retryAfterMs: 1_000 } },
    });
    await endsOnce(await startGranted('issue.comment', key), key);
  });
});

describe('RE-2: a receipt that is lost, at a tracker that knows repeated requests by their key', () => {
  beforeEach(() => setTracker(cluster.trackerAddress, { dedupe: true, searchLagMs: 0 }));

  it.each([
    'none',
    'drop_receipt',
    'drop_request',
    'error_after',
    'error_before',
    'duplicate',
    'duplicate_answer',
  ] as const)('%s: ok, and one comment', async (mode) => {
    const key = keyFor(mode);
    await arm(mode);
    const end = await endsOnce(await startGranted('issue.comment_once', key), key);
    const isRerun = mode === 'drop_request' || mode === 'error_before';
    expect(end.epoch).toBe(isRerun ? 2 : 1);
  });

  it('a first attempt that is written after the second: one comment all the same', async () => {
    const key = keyFor('overtaken');
    const armed = await cluster.arm('web', 'worker.started:pause');
    const callId = await startGranted('issue.comment_once', key);
    await cluster.waitForState(callId, ['unknown']);
    const second = cluster.spawn('web');
    await second.ready;
    await endsOnce(callId, key);
    armed.kill('SIGCONT');
    await armed.exited;
    expect(written(key)).toBe(1);
  });
});

describe('RE-4: a cancel or a deadline after the outside write began', () => {
  beforeEach(() => setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 }));

  const startedWith = async (mode: FaultMode, delayMs: number, key: string, deadlineMs?: number) => {
    await arm(mode, delayMs);
    const callId = await startGranted('issue.comment', key, deadlineMs);
    await waitFor(async () => (await cluster.claim('web', callId))?.state === 'started', { timeoutMs: 20_000 });
    return callId;
  };

  it('cancelled: unknown and never an error, then found', async () => {
    const key = keyFor('cancelled');
    const callId = await startedWith('delay', 20_000, key);
    expect((await client.cancelCall(callId)).state).toBe('running');
    const unknown = await cluster.waitForState(callId, [...ENDS, 'unknown']);
    expect(unknown).toMatchObject({ state: 'unknown', result: { status: 'unknown', sideEffect: 'possible' } });
    await endsOnce(callId, key);
  });

  it('past its deadline: the same', async () => {
    const key = keyFor('deadline');
    const callId = await startedWith('delay', 20_000, key, 2_000);
    const unknown = await cluster.waitForState(callId, [...ENDS, 'unknown']);
    expect(unknown).toMatchObject({ state: 'unknown', result: { sideEffect: 'possible' } });
    await endsOnce(callId, key);
  });
});

describe('RE-2: kills on the way', () => {
  beforeEach(() => setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 }));

  it.each(['worker.after-write', 'worker.after-done', 'worker.after-publish'])(
    'of the worker at %s: ok, and one comment',
    async (point) => {
      const key = keyFor('worker');
      const armed = await cluster.arm('web', `${point}:kill`);
      const callId = await startGranted('issue.comment', key);
      expect((await armed.exited).signal).toBe('SIGKILL');
      await cluster.ensure('web');
      await endsOnce(callId, key);
    },
  );

  it('of the worker before the request: nothing is there, unknown; with a tracker that deduplicates it is run again', async () => {
    const [blind, once] = [keyFor('before'), keyFor('before')];
    const first = await cluster.arm('web', 'worker.started:kill');
    const left = await startGranted('issue.comment', blind);
    await first.exited;
    await cluster.ensure('web');
    await staysUnknown(left, 'absent');
    expect(written(blind)).toBe(0);
    await setTracker(cluster.trackerAddress, { dedupe: true });
    const second = await cluster.arm('web', 'worker.started:kill');
    const callId = await startGranted('issue.comment_once', once);
    await second.exited;
    await cluster.ensure('web');
    expect((await endsOnce(callId, once)).epoch).toBe(2);
  });

  it.each([
    'router.after-operation',
    'router.after-approval',
    'router.after-queued',
    'router.after-publish',
    'router.before-settle',
    'router.after-call-settled',
    'router.after-terminal-event',
  ])('of the router at %s: ok, and one comment', async (point) => {
    const key = keyFor('router');
    await arm('drop_receipt');
    const armed = await cluster.arm('router', `${point}:kill`);
    const callId = await startGranted('issue.comment', key);
    expect((await armed.exited).signal).toBe('SIGKILL');
    await cluster.ensure('router');
    await endsOnce(callId, key);
  });

  it('of the tracker over the answer: ok, and one comment, when it is there again', async () => {
    const key = keyFor('tracker');
    await arm('delay', 20_000);
    const callId = await startGranted('issue.comment', key);
    await waitFor(() => written(key) === 1, { timeoutMs: 20_000 });
    await cluster.killAll('tracker');
    await cluster.waitForState(callId, ['unknown']);
    await waitFor(async () => (await cluster.call(callId))?.probe?.last === 'failed', { timeoutMs: 20_000 });
    await cluster.ensure('tracker');
    await endsOnce(callId, key);
  });
});
