import { createArtifactStore } from '@toolfabric/artifact-http';
import { type ArtifactPermit, PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, traceIdOf, uuidv7 } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';
import { EventTap, treeOf } from './event-tap.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let cluster: Cluster;
let tap: EventTap;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  tap = await EventTap.on(cluster.nats);
  ({ taskId } = await cluster.client().createTask({ title: 'traced' }));
}, 60_000);
afterAll(async () => {
  await tap.stop();
  await cluster.stop();
});

const WHOLE = [
  'gateway: toolfabric.v1.ToolService/Call',
  '  router: handle_call truth.append',
  '    worker-truth: execute_tool truth.append',
  '    router: settle_call truth.append',
];

describe('TR-1: one call is one trace', () => {
  it('through client, gateway, router, worker and back, as a child of what the caller began', async () => {
    const proposal = { taskId, tool: 'truth.append', args: { identity: 'traced-1' }, traceparent: TRACEPARENT };
    const { callId } = await cluster.client().call({ ...proposal, turn: 4, modelCallId: 'call_abc' });
    const spans = await tap.spansOfCall(ADA.tenant, callId, 4);
    expect(treeOf(spans)).toEqual(WHOLE);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['0af7651916cd43dd8448eb211c80319c']));
    const [root, handled, executed] = ['v1.ToolService/Call', 'handle_call', 'execute_tool'].map((name) =>
      spans.find((span) => span.name.includes(name)),
    );
    expect(root).toMatchObject({ kind: 'server', parentSpanId: 'b7ad6b7169203331', status: 'unset' });
    expect(handled?.attributes).toMatchObject({
      'gen_ai.tool.name': 'truth.append',
      'gen_ai.tool.call.id': 'call_abc',
      'toolfabric.turn': 4,
      'toolfabric.policy.rule': expect.stringContaining('workspace_write'),
      'toolfabric.approval': false,
    });
    expect(executed?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'truth.append',
      'gen_ai.tool.call.id': callId,
      'toolfabric.attempt': 1,
      'toolfabric.side_effect': 'confirmed',
      'toolfabric.unknown': false,
    });
    for (const { startUs, endUs } of spans) expect(endUs).toBeGreaterThanOrEqual(startUs);
  });

  it('begins here without a context from the caller, and is found by the call', async () => {
    const { callId } = await cluster.client().call({ taskId, tool: 'truth.append', args: { identity: 'traced-2' } });
    const spans = await tap.spansOfCall(ADA.tenant, callId, 4);
    expect(treeOf(spans)).toEqual(WHOLE);
    const settled = tap.ofCall(callId, 'call.settled');
    expect(settled?.attributes['traceId']).toBe(spans[0]?.traceId);
    expect(traceIdOf((await cluster.call(callId))?.traceparent)).toBe(spans[0]?.traceId);
  });

  it('begins here also when the context is broken', async () => {
    const broken = '00-00000000000000000000000000000000-b7ad6b7169203331-01';
    const proposal = { taskId, tool: 'truth.noop', args: {}, traceparent: broken };
    const { callId } = await cluster.client().call(proposal);
    const spans = await tap.spansOfCall(ADA.tenant, callId, 4);
    expect(spans[0]?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  });

  it('is not recorded when the caller says that it is not', async () => {
    const proposal = { taskId, tool: 'truth.noop', args: {}, traceparent: TRACEPARENT.replace(/01$/, '00') };
    const unsampled = await cluster.client().call(proposal);
    const later = await cluster.client().call({ taskId, tool: 'truth.noop', args: {} });
    await tap.spansOfCall(ADA.tenant, later.callId, 4);
    expect(tap.spansOf(ADA.tenant).filter(({ callId }) => callId === unsampled.callId)).toEqual([]);
    expect(tap.ofCall(unsampled.callId, 'call.settled')?.attributes['traceId']).toBe(
      '0af7651916cd43dd8448eb211c80319c',
    );
  });

  it('goes on after the router that accepted it was killed', async () => {
    const worker = await cluster.arm('truth', 'worker.started:kill');
    const client = cluster.client();
    const { callId } = await client.startCall({ taskId, tool: 'truth.append', args: { identity: 'traced-3' } });
    // It ends by itself once the effect is about to begin: not before the call has started, and not after.
    await worker.exited;
    await cluster.killAll('router');
    await cluster.ensure('router');
    await cluster.ensure('truth');
    const end = await waitFor(async () => {
      const view = await client.getCall(callId);
      return view.state === 'unknown' && view.reconciling ? view : undefined;
    });
    expect(end.state).toBe('unknown');
    const spans = await waitFor(async () => {
      const found = await tap.spansOfCall(ADA.tenant, callId, 2);
      return found.some(({ name }) => name.startsWith('settle_call')) &&
        found.some(({ name }) => name.startsWith('probe_tool'))
        ? found
        : undefined;
    });
    // The span of the acceptance died with its router; what came later names it as its parent all the same.
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(spans.find(({ name }) => name.startsWith('settle_call'))?.attributes).toMatchObject({
      'toolfabric.unknown': true,
      'toolfabric.call.state': 'unknown',
    });
  });

  it('is told of a refused call too, by router and by gateway, with error and layer and without what was written', async () => {
    const client = cluster.client();
    const bad = { taskId, tool: 'truth.append', turn: 2, modelCallId: 'call_x' };
    const byRouter = await client.call({ ...bad, args: { identity: 7 } });
    const byGateway = await client.call({ ...bad, args: '{"identity": ' });
    const unknown = await client.call({ ...bad, tool: 'truth.apend', args: {} });
    expect([byRouter.state, byGateway.state, unknown.state]).toEqual(['refused', 'refused', 'refused']);
    const events = await waitFor(async () => {
      const found = [byRouter, byGateway, unknown].map(({ callId }) => tap.ofCall(callId, 'call.refused'));
      return found.every((event) => event !== undefined) ? found : undefined;
    });
    const told = { error: 'invalid_arguments', errorLayer: 'protocol', tool: 'truth.append', turn: 2 };
    expect(events.map((event) => event?.service)).toEqual(['router', 'gateway', 'router']);
    expect(events[0]).toMatchObject({ actor: ADA, taskId, attributes: { ...told, modelCallId: 'call_x' } });
    expect(events[1]).toMatchObject({ actor: ADA, taskId, attributes: told });
    expect(events[2]?.attributes).toMatchObject({ error: 'unknown_tool', tool: 'truth.apend' });
    const spans = await tap.spansOfCall(ADA.tenant, byRouter.callId, 2);
    expect(spans.map(({ attributes }) => attributes['error.type'])).toContain('invalid_arguments');
  });
});

describe('TR-1: the artifact store', () => {
  it('notes requests of a worker in the trace of the call, and none of their names', async () => {
    await cluster.ensure('artifacts');
    const callId = `2969-${'a'.repeat(26)}`;
    const permit: ArtifactPermit = {
      action: 'call',
      actor: ADA,
      taskId,
      callId,
      epoch: 2,
      maxBytes: 1_000,
      retentionDays: 1,
      expires: Date.now() + 60_000,
    };
    const { kid, privateKey } = cluster.nats.signing;
    const store = createArtifactStore({ url: cluster.artifactsUrl });
    try {
      const session = store.session(
        createSigner(kid, privateKey).sign(PERMIT_TYPE, JSON.stringify(permit)),
        TRACEPARENT,
      );
      const name = { name: 'named-by-a-caller.txt', mediaType: 'text/plain', trust: 'untrusted' } as const;
      const bytes = (async function* () {
        yield Buffer.from('content');
      })();
      await session.put(name, bytes, AbortSignal.timeout(10_000));
    } finally {
      store.close();
    }
    const [span] = await tap.spansOfCall(ADA.tenant, callId, 1);
    expect(span).toMatchObject({
      name: 'artifacts put',
      service: 'artifacts',
      kind: 'server',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      attributes: { 'toolfabric.permit.action': 'call', 'toolfabric.attempt': 2 },
    });
    expect(JSON.stringify(span)).not.toContain('named-by-a-caller');
  });
});

describe('TR-1: what a settled call tells', () => {
  it('has everything that a row needs', async () => {
    const first = await cluster.client().call({ taskId, tool: 'truth.append', args: { identity: 'told-1' } });
    const { callId } = await cluster.client().call({
      taskId,
      tool: 'truth.append',
      args: { identity: 'told-2' },
      turn: 7,
      modelCallId: 'call_7',
      model: 'gpt-9@2026-11-01',
      catalogueDigest: 'c'.repeat(64),
      repairs: first.callId,
    });
    const [accepted, settled] = await waitFor(async () => {
      const found = [tap.ofCall(callId, 'call.accepted'), tap.ofCall(callId, 'call.settled')];
      return found[0] && found[1] ? found : undefined;
    });
    expect(accepted).toMatchObject({ actor: ADA, taskId, attributes: { state: 'queued', risk: 'workspace_write' } });
    expect(settled).toMatchObject({ id: `${callId}:settled.ok`, actor: ADA, taskId });
    expect(settled?.attributes).toEqual({
      tool: 'truth.append',
      version: '1.0.0',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      kind: 'truth',
      handler: 'truth.append',
      risk: 'workspace_write',
      effect: 'workspace',
      epoch: 1,
      state: 'ok',
      sideEffect: 'confirmed',
      attempt: 1,
      error: '',
      errorLayer: '',
      trust: 'trusted',
      acceptedAt: expect.any(Number),
      settledAt: expect.any(Number),
      durationMs: expect.any(Number),
      executionMs: expect.any(Number),
      rule: expect.stringContaining('workspace_write'),
      policyVersion: expect.any(String),
      turn: 7,
      modelCallId: 'call_7',
      model: 'gpt-9@2026-11-01',
      catalogueDigest: 'c'.repeat(64),
      repairs: first.callId,
      argsHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      resultBytes: expect.any(Number),
      truncated: false,
      truncatedTotal: 0,
      artifacts: 0,
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('and of a task: who, how it ended, and how long it took', async () => {
    const client = cluster.client();
    const task = await client.createTask({ title: 'told' });
    await client.endTask(task.taskId, 'abandoned');
    const of = (type: string) => tap.events.find((event) => event.taskId === task.taskId && event.type === type);
    await waitFor(async () => of('task.created') && of('task.ended'));
    expect(of('task.created')).toMatchObject({ actor: ADA, attributes: { state: 'open', outcome: '' } });
    expect(of('task.ended')).toMatchObject({
      actor: ADA,
      attributes: { state: 'ended', outcome: 'abandoned', durationMs: expect.any(Number) },
    });
  });

  it('a call that takes something first is queued in a step of its own', async () => {
    const client = cluster.client();
    const args = { identity: `queued-${uuidv7()}` };
    const { callId } = await client.startCall({ taskId, tool: 'truth.append_outside', args });
    await cluster.grant(callId);
    await cluster.waitForState(callId, ['ok']);
    const queued = await waitFor(async () => tap.ofCall(callId, 'call.queued'));
    expect(queued).toMatchObject({ id: `${callId}:queued.1`, actor: ADA });
    expect(tap.ofCall(callId, 'call.accepted')?.attributes['state']).toBe('awaiting_approval');
  });

  it('RE-1: which is told also when the router dies before it could tell', async () => {
    const client = cluster.client();
    const args = { identity: `queued-${uuidv7()}` };
    const { callId } = await client.startCall({ taskId, tool: 'truth.append_outside', args });
    await cluster.waitForState(callId, ['awaiting_approval']);
    const armed = await cluster.arm('router', 'router.after-queued:kill');
    await cluster.grant(callId);
    expect(await armed.exited).toMatchObject({ signal: 'SIGKILL' });
    await cluster.ensure('router');
    await cluster.waitForState(callId, ['ok']);
    const queued = await waitFor(async () => tap.ofCall(callId, 'call.queued'));
    expect(queued).toMatchObject({ id: `${callId}:queued.1`, attributes: { epoch: 1 } });
  });
});

describe('two tenants', () => {
  it('never share a message of spans, even in the trace of the same caller', async () => {
    const rival = cluster.client({ tenant: 'rival' });
    const theirs = await rival.createTask({ title: 'rival' });
    const calls = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const [client, task] = i % 2 === 0 ? [cluster.client(), taskId] : [rival, theirs.taskId];
        return client.call({ taskId: task, tool: 'truth.noop', args: {}, traceparent: TRACEPARENT });
      }),
    );
    const ofTenant = (own: number) => calls.filter((_, i) => i % 2 === own).map(({ callId }) => callId);
    const [ours, others] = [new Set(ofTenant(0)), new Set(ofTenant(1))];
    for (const callId of ours) await tap.spansOfCall(ADA.tenant, callId, 4);
    for (const callId of others) await tap.spansOfCall('rival', callId, 4);
    for (const { tenant, spans = [] } of tap.events) {
      const foreign = tenant === 'rival' ? ours : others;
      expect(spans.filter(({ callId }) => callId !== undefined && foreign.has(callId))).toEqual([]);
    }
  });
});
