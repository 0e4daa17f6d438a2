import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { type CallRecord, EGRESS_PERMIT_TYPE, type EgressPermit, type ToolContract } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import { createSigner } from '@toolfabric/kernel';
import type { SpawnedService } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DoorRelay, type Place } from '../egress/door-relay.ts';
import { trackerContracts } from '../peers/tracker/src/interface.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;
let relay: DoorRelay;
let worker: SpawnedService;
let egress: SpawnedService;

/** A comment is fenced by the egress alone: the tracker knows no repeated request. */
const fenced = (contract: ToolContract): ToolContract => {
  const { execution, governance } = contract;
  const reconcile = governance.reconcile && { ...governance.reconcile, fence: 'egress' as const };
  return {
    ...contract,
    execution: { ...execution, pools: ['web'] },
    governance: { ...governance, ...(reconcile === undefined ? {} : { reconcile }) },
  };
};

/** Every worker of the web goes out past the relay. */
const startWorker = async (): Promise<SpawnedService> => {
  worker = cluster.spawn('web', '', { TOOLFABRIC_EGRESS_SOCKET: relay.path });
  await worker.ready;
  return worker;
};
const startEgress = async (faults = ''): Promise<void> => {
  egress = cluster.spawn('egress', faults);
  await egress.ready;
};

beforeAll(async () => {
  cluster = await Cluster.start({ kinds: ['web'] });
  const asked = ['issue.comment', 'issue.comments'];
  await cluster.publish(
    trackerContracts(cluster.trackerAddress)
      .filter(({ name }) => asked.includes(name))
      .map(fenced),
  );
  egress = await cluster.ensure('egress');
  await Promise.all((['router', 'gateway', 'tracker'] as const).map((app) => cluster.ensure(app)));
  relay = await DoorRelay.listen(join(cluster.directory, 'relay'), cluster.egress.socket);
  await startWorker();
  client = cluster.client();
  taskId = (await client.createTask({ title: 'paused' })).taskId;
});
afterAll(async () => {
  await relay.stop();
  await cluster.stop();
});

const written = (key: string) => commentsIn(cluster.trackerFile, key).length;

/** A comment whose worker is paused while it is held at that place; another worker is there afterwards. */
const pauseAt = async (place: Place, key: string) => {
  const args = { number: 7, body: 'Both pass.', key };
  const view = await client.startCall({ taskId, tool: 'issue.comment', args, deadlineMs: 120_000 });
  expect(view, JSON.stringify(view)).toMatchObject({ state: 'awaiting_approval' });
  const { callId } = view;
  const held = relay.hold(place, callId);
  await cluster.grant(callId);
  await held.reached;
  const paused = worker;
  paused.kill('SIGSTOP');
  await startWorker();
  return { callId, paused, release: held.release };
};

/** A worker that was declared dead while it stood still ends when it wakes. */
const wake = async (paused: SpawnedService) => {
  paused.kill('SIGCONT');
  expect((await paused.exited).code).toBe(1);
};

/** The door under a permit of that call as whoever has the key of a router could sign it. */
const opened = async (callId: string, over: Partial<EgressPermit>, kid = cluster.nats.signing.kid) => {
  const permit: EgressPermit = {
    kind: 'web',
    actor: ADA,
    taskId,
    callId,
    epoch: 1,
    rules: [],
    maxBytes: 1_000,
    maxConnections: 1,
    expires: Date.now() + 60_000,
    ...over,
  };
  const signed = createSigner(kid, cluster.nats.signing.privateKey).sign(EGRESS_PERMIT_TYPE, JSON.stringify(permit));
  const session = createEgressDoor({ socketPath: cluster.egress.socket }).session(signed);
  return session.proxy(AbortSignal.timeout(20_000)).finally(() => session.close());
};

/** Asked twice without a proof: nothing runs again. */
const staysUnknown = async (callId: string): Promise<CallRecord> => {
  const asked = async () => (await cluster.call(callId))?.probe?.asked ?? 0;
  const before = await asked();
  await expect.poll(asked, { timeout: 30_000 }).toBeGreaterThan(before + 1);
  const call = await cluster.waitForState(callId, ['unknown']);
  expect(call.epoch).toBe(1);
  return call;
};

describe('protocol 7: a worker that is paused in the middle of a write, behind the egress', () => {
  it.each([
    ['permit', 'permit_revoked'],
    ['token', 'permit_revoked'],
    ['request', 'permit_revoked'],
  ] as const)('held at its %s: the next epoch has written, and what wakes goes nowhere', async (place, refusal) => {
    const { callId, paused, release } = await pauseAt(place, `held-at-${place}`);
    const end = await cluster.waitForState(callId, ['ok'], 60_000);
    expect(end).toMatchObject({ epoch: 2, result: { sideEffect: 'confirmed', attempt: 2 } });
    relay.answers.length = 0;
    release();
    await wake(paused);
    if (place !== 'token') expect(relay.answers.join()).toContain(refusal);
    expect(written(`held-at-${place}`)).toBe(1);
    expect((await client.getCall(callId)).state).toBe('ok');
  });

  it('held at its answer: the tracker is asked, and the first epoch is told as done', async () => {
    const { callId, paused, release } = await pauseAt('answer', 'held-at-answer');
    const end = await cluster.waitForState(callId, ['ok'], 60_000);
    expect(end).toMatchObject({ epoch: 1, result: { sideEffect: 'confirmed' } });
    release();
    await wake(paused);
    expect(written('held-at-answer')).toBe(1);
  });
});

describe('protocol 7: the egress fails as well', () => {
  it('it ended in order: everything was closed, so the next epoch may write', async () => {
    const { callId, paused, release } = await pauseAt('request', 'drained');
    egress.kill('SIGTERM');
    expect((await egress.exited).code).toBe(0);
    await startEgress();
    expect(await cluster.waitForState(callId, ['ok'], 60_000)).toMatchObject({ epoch: 2 });
    release();
    await wake(paused);
    expect(written('drained')).toBe(1);
    // Not the process that was asked: it finds the stored floor, below which no leave is good any more.
    const open = (over: Partial<EgressPermit>, kid?: string) => opened(callId, over, kid);
    await expect(open({ epoch: 1 })).rejects.toThrow(/^permit_revoked: /);
    await expect(open({ epoch: 2 })).rejects.toThrow(/^permit_revoked: /);
    await expect(open({ epoch: 3, expires: Date.now() - 120_000 })).rejects.toThrow(/^permit_expired: /);
    await expect(open({ epoch: 3, kind: 'nowhere' })).rejects.toThrow(/^permit_malformed: /);
    await expect(open({ epoch: 3 }, 'worker-web')).rejects.toThrow(/^permit_malformed: /);
    await expect(open({ epoch: 3 })).resolves.toMatchObject({ socketPath: cluster.egress.socket });
  });

  it('it was killed and came back: no fence, so nothing runs again, and the old token opens nothing', async () => {
    const { callId, paused, release } = await pauseAt('request', 'killed');
    egress.kill('SIGKILL');
    await egress.exited;
    await startEgress();
    await staysUnknown(callId);
    relay.answers.length = 0;
    release();
    await expect.poll(() => relay.answers.join(), { timeout: 15_000 }).toContain('permit_unknown');
    await wake(paused);
    expect(written('killed')).toBe(0);
    expect((await cluster.call(callId))?.epoch).toBe(1);
  });

  it('it was killed after the tracker had written: the tracker is asked through the next one', async () => {
    const { callId, paused, release } = await pauseAt('answer', 'killed-after');
    egress.kill('SIGKILL');
    await egress.exited;
    await startEgress();
    expect(await cluster.waitForState(callId, ['ok'], 60_000)).toMatchObject({ epoch: 1 });
    release();
    await wake(paused);
    expect(written('killed-after')).toBe(1);
  });

  it('it was paused as well, and wakes first: it ends, and has sent nothing', async () => {
    const { callId, paused, release } = await pauseAt('request', 'both-paused');
    egress.kill('SIGSTOP');
    await staysUnknown(callId);
    egress.kill('SIGCONT');
    expect((await egress.exited).code).toBe(1);
    await startEgress();
    release();
    await wake(paused);
    expect(written('both-paused')).toBe(0);
    await staysUnknown(callId);
  });

  it('it died while it was closing: it has not said so, and nothing runs again', async () => {
    egress.kill('SIGTERM');
    await egress.exited;
    await startEgress('egress.revoked:kill');
    const { callId, paused, release } = await pauseAt('request', 'died-closing');
    expect((await egress.exited).signal).toBe('SIGKILL');
    await startEgress();
    await staysUnknown(callId);
    release();
    await wake(paused);
    expect(written('died-closing')).toBe(0);
  });
});
