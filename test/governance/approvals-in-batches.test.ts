import { FabricError } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApprovalCluster, ERASE } from './support/approval-cluster.ts';

let world: ApprovalCluster;
beforeAll(async () => {
  world = await ApprovalCluster.start();
}, 60_000);
afterAll(() => world.stop());

const typeOf = (thrown: unknown): string => (thrown instanceof FabricError ? thrown.type : 'nothing typed');
const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'answered',
    (thrown: unknown) => typeOf(thrown),
  );

describe('a batch', () => {
  const until = () => Date.now() + 600_000;
  const batch = (calls: readonly { callId: string }[], more = {}) =>
    world.grace.grantBatch({
      callIds: calls.map(({ callId }) => callId),
      scope: 'note:repo:batch',
      risk: 'external_write',
      until: until(),
      ...more,
    });

  it('PO-5: grants all that lie within its scope and level', async () => {
    const calls = [await world.ask('batch/1'), await world.ask('batch/2'), await world.ask('batch/3')];
    const { batchId, outcomes } = await batch(calls);
    expect(outcomes.map(({ callId }) => callId)).toEqual(calls.map(({ callId }) => callId));
    for (const { callId, approvalId } of calls) {
      expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
      expect(await world.record(approvalId)).toMatchObject({ batchId, state: 'consumed' });
    }
    expect(['batch/1', 'batch/2', 'batch/3'].map((identity) => world.times(identity))).toEqual([1, 1, 1]);
  });

  it('PO-5: one member outside of scope or level, or a strong one, and nothing is granted', async () => {
    const [inside, outside] = [await world.ask('batch/4'), await world.ask('elsewhere/4')];
    const strong = await world.ask('batch/5', { tool: ERASE });
    expect(await refusal(batch([inside, outside]))).toBe('invalid_request');
    expect(await refusal(batch([inside, strong]))).toBe('forbidden');
    expect(await refusal(batch([inside], { risk: 'workspace_write' }))).toBe('invalid_request');
    expect(await refusal(batch([strong], { risk: 'irreversible' }))).toBe('invalid_request');
    expect(await refusal(batch([inside, inside]))).toBe('invalid_request');
    expect(await refusal(batch([inside], { until: Date.now() + 2 * 3_600_000 }))).toBe('invalid_request');
    for (const { approvalId } of [inside, outside, strong]) {
      expect(await world.record(approvalId)).toMatchObject({ state: 'pending' });
      await world.grace.denyApproval(approvalId);
    }
  });

  it('PO-5: its window ends the yes of what was not used by then', async () => {
    const call = await world.ask('batch/6');
    const { outcomes } = await batch([call], { until: Date.now() + 20_000 });
    expect(outcomes[0]?.approvalId).toBe(call.approvalId);
    // Less than the leeway of the clocks is left: it fails closed.
    expect(await world.ended(call.callId)).toMatchObject({ result: { error: { type: 'approval_expired' } } });
    expect(world.times('batch/6')).toBe(0);
  });
});

describe('the live list', () => {
  it('tells what waits, then each question and answer', async () => {
    const before = await world.ask('live/1');
    const stop = new AbortController();
    const told: string[] = [];
    const following = (async () => {
      for await (const { callId, state } of world.grace.watchApprovals({ signal: stop.signal }))
        told.push(`${callId} ${state}`);
    })().catch(() => {});
    await waitFor(() => told.includes(`${before.callId} pending`), { timeoutMs: 10_000 });
    const after = await world.ask('live/2');
    await waitFor(() => told.includes(`${after.callId} pending`), { timeoutMs: 10_000 });
    await world.grace.denyApproval(after.approvalId);
    await waitFor(() => told.includes(`${after.callId} denied`), { timeoutMs: 10_000 });
    await world.grace.denyApproval(before.approvalId);
    stop.abort();
    await following;
    expect(new Set(told).size).toBe(told.length);
  });
});
