import type { FabricClient } from '@toolfabric/client';
import { uuidv7 } from '@toolfabric/kernel';
import { openKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'faults' })).taskId;
});
afterAll(() => cluster.stop());

const isOpen = async (callId: string) => (await cluster.ledger.open.get(openKey(ADA.tenant, callId))) !== undefined;

/** The only router dies at the armed place; the caller waits through it, and a new router takes over. */
const callWithDyingRouter = async (fault: string, identity: string, tool = 'truth.append') => {
  const armed = await cluster.arm('router', `${fault}:kill`);
  const calling = client.call({ taskId, tool, args: { identity } }, { waitMs: 30_000, timeoutMs: 45_000 });
  expect((await armed.exited).signal).toBe('SIGKILL');
  await cluster.ensure('router');
  return calling;
};

describe('RE-3: a router that is killed', () => {
  it.each([
    'router.after-open-and-call',
    'router.after-publish',
    'router.before-settle',
    'router.after-call-settled',
    'router.after-terminal-event',
    'router.after-result-ack',
  ])('at %s: the call is carried on, ends once, and is closed', async (fault) => {
    const identity = fault.replaceAll('.', '-');
    const call = await callWithDyingRouter(fault, identity);
    expect(call).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    expect(cluster.truth(identity)).toHaveLength(1);
    await expect.poll(() => isOpen(call.callId), { timeout: 15_000 }).toBe(false);
  });

  it.each(['router.after-operation', 'router.after-approval', 'router.after-queued'])(
    'L4: at %s, with an operation and an approval: both are taken once, the effect happens once',
    async (fault) => {
      await cluster.ensure('router');
      const identity = `outside-${fault.split('-').at(-1)}`;
      const started = await client.startCall({ taskId, tool: 'truth.append_outside', args: { identity } });
      expect(started).toMatchObject({ state: 'awaiting_approval', result: { status: 'needs_approval' } });
      expect(cluster.truth(identity)).toHaveLength(0);
      const armed = await cluster.arm('router', `${fault}:kill`);
      await cluster.grant(started.callId);
      expect((await armed.exited).signal).toBe('SIGKILL');
      await cluster.ensure('router');
      const call = await cluster.waitForState(started.callId, ['ok', 'error', 'unknown', 'denied', 'expired']);
      expect(call.state).toBe('ok');
      expect(cluster.truth(identity)).toHaveLength(1);
      const operation = async () => (await cluster.ledger.operations.get(call.operation ?? ''))?.value;
      await expect.poll(operation, { timeout: 15_000 }).toMatchObject({ callId: call.callId, state: 'done' });
    },
  );

  it('RE-1: two calls with one business identity have one effect, and both end with it', async () => {
    await cluster.ensure('router');
    const propose = () => client.startCall({ taskId, tool: 'truth.append_outside', args: { identity: 'twice' } });
    const [first, second] = [await propose(), await propose()];
    await cluster.grant(first.callId);
    await cluster.grant(second.callId);
    const ends = await Promise.all(
      [first, second].map(({ callId }) => cluster.waitForState(callId, ['ok', 'error', 'unknown'])),
    );
    expect(ends.map((end) => end.state)).toEqual(['ok', 'ok']);
    expect(cluster.truth('twice')).toHaveLength(1);
  });

  it('RE-1: the same identity with other arguments is a conflict without effect', async () => {
    await cluster.ensure('router');
    const propose = (args: Record<string, string | number>) =>
      client.startCall({ taskId, tool: 'truth.append_outside', args });
    const first = await propose({ identity: 'conflict' });
    const second = await propose({ identity: 'conflict', delay_ms: 1 });
    await cluster.grant(first.callId);
    expect((await cluster.waitForState(first.callId, ['ok'])).state).toBe('ok');
    await cluster.grant(second.callId);
    const end = await cluster.waitForState(second.callId, ['error', 'ok', 'unknown']);
    expect(end.result).toMatchObject({ status: 'error', error: { type: 'conflict' }, sideEffect: 'none' });
    expect(cluster.truth('conflict')).toHaveLength(1);
  });

  it('a second router takes over the shards of a dead one', async () => {
    await cluster.ensure('router');
    const other = cluster.spawn('router');
    await other.ready;
    await cluster.killAll('truth');
    const { callId } = await client.startCall({
      taskId,
      tool: 'truth.append',
      args: { identity: 'takeover' },
      requestKey: uuidv7(),
    });
    const first = await cluster.ensure('router');
    first.kill('SIGKILL');
    await first.exited;
    await cluster.arm('truth', 'worker.claimed:kill').then((armed) => armed.exited);
    await cluster.ensure('truth');
    expect((await cluster.waitForState(callId, ['ok'])).epoch).toBe(2);
    expect(cluster.truth('takeover')).toHaveLength(1);
    other.kill('SIGKILL');
    await other.exited;
  });
});
