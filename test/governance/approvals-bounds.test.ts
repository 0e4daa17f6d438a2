import { contractDigests } from '@toolfabric/catalogue';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { callKey, toolKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA } from '../support/cluster.ts';
import { ApprovalCluster, POST } from './support/approval-cluster.ts';

/** Like the other, but its callers name the business action, and for a day. */
const KEYED = 'note.keyed';
const DAY_MS = 86_400_000;

let world: ApprovalCluster;
beforeAll(async () => {
  world = await ApprovalCluster.start();
  const found = await world.cluster.ledger.registry.get(toolKey(POST, '1.0.0'));
  if (found === undefined) throw new Error('the tool is not there');
  const { operation_key: _, ...governance } = found.value.contract.governance;
  const contract = { ...found.value.contract, name: KEYED, governance: { ...governance, operation_days: 1 } };
  await world.cluster.ledger.registry.create(toolKey(KEYED, '1.0.0'), {
    ...found.value,
    contract,
    ...contractDigests(contract),
  });
  await waitFor(async () => (await world.ada.listTools()).tools.some(({ name }) => name === KEYED), {
    timeoutMs: 10_000,
  });
}, 60_000);
afterAll(() => world.stop());

const recordOf = async (callId: string) => (await world.cluster.ledger.calls.get(callKey(ADA.tenant, callId)))?.value;

describe('a person who changes the arguments', () => {
  it('RE-1: does not make an old operation key new: it is asked about before its first run', async () => {
    const operationKey = uuidv7(Date.now() - 2 * DAY_MS);
    const asked = { taskId: world.taskId, tool: KEYED, args: { identity: 'old/1' }, operationKey };
    const { callId, approvalId } = await world.ada.call(asked);
    const old = await recordOf(callId);
    expect(old).toMatchObject({ history: 'ask', operationMs: DAY_MS });
    const { call } = await world.grace.editApproval(approvalId ?? '', { args: { identity: 'old/2' } });
    const fresh = await recordOf(call.callId);
    expect(fresh).toMatchObject({ operation: old?.operation, operationMs: DAY_MS });
    expect(fresh?.history).toMatch(/^(ask|clear)$/);
  });

  it('RE-1: sees how the call stands, and not what it brought forth for the one who asked', async () => {
    const { approvalId } = await world.ask('edit/mine');
    const wanted = { args: { identity: 'edit/theirs' }, requestKey: uuidv7() };
    const { call } = await world.grace.editApproval(approvalId, wanted);
    await world.ended(call.callId);
    expect((await world.ada.getCall(call.callId)).result?.data).toEqual({ identity: 'edit/theirs' });
    const again = await world.grace.editApproval(approvalId, wanted);
    expect(again.call).toMatchObject({ callId: call.callId, state: 'ok' });
    expect(again.call.result).toBeUndefined();
  });
});

describe('a yes', () => {
  it('FD-5: that comes after the time of the task runs nothing', async () => {
    const { taskId } = await world.ada.createTask({ title: 'short', budget: { wallMs: 2_000 } });
    const { callId, approvalId } = await world.ask('after-the-wall', { taskId });
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    await world.grace.grantApproval(approvalId).catch((thrown: unknown) => {
      if (!(thrown instanceof FabricError)) throw thrown;
    });
    expect(await world.ended(callId)).toMatchObject({
      state: 'denied',
      result: { sideEffect: 'none', error: { type: 'budget_exceeded' } },
    });
    expect(world.times('after-the-wall')).toBe(0);
  });

  it('FD-5: gives a call no more time than its task has', async () => {
    const { taskId } = await world.ada.createTask({ title: 'longer', budget: { wallMs: 30_000 } });
    const end = ((await world.ada.getTask(taskId)).createdAt ?? 0) + 30_000;
    const { callId, approvalId } = await world.ask('within-the-wall', { taskId });
    await new Promise((resolve) => setTimeout(resolve, 500));
    await world.grace.grantApproval(approvalId);
    await world.ended(callId);
    expect((await recordOf(callId))?.deadline).toBeLessThanOrEqual(end);
  });
});
