import type { FabricEvent } from '@toolfabric/contract';
import { taskKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA } from '../support/cluster.ts';
import { EventTap } from '../telemetry/event-tap.ts';
import { ApprovalCluster } from './support/approval-cluster.ts';

let world: ApprovalCluster;
let tap: EventTap;
beforeAll(async () => {
  world = await ApprovalCluster.start();
  tap = await EventTap.on(world.cluster.nats);
}, 60_000);
afterAll(async () => {
  await tap.stop();
  await world.stop();
});

const told = (callId: string, type: FabricEvent['type']) =>
  waitFor(() => tap.ofCall(callId, type), { timeoutMs: 15_000, what: `${type} of ${callId}` });
const ids = (callId: string) => [...new Set(tap.events.filter((one) => one.callId === callId).map(({ id }) => id))];

describe('approvals in the trace', () => {
  it('question, answer and use are told, with who answered by which token, and without the preview', async () => {
    const { callId, approvalId } = await world.ask('traced/1', { body: 'the body stays behind the door' });
    await world.grace.grantApproval(approvalId);
    expect(await told(callId, 'approval.requested')).toMatchObject({
      attributes: { approvalId, risk: 'external_write', strength: 'confirm', resource: 'note:repo:traced/1' },
    });
    const decided = await told(callId, 'approval.decided');
    expect(decided.attributes).toMatchObject({ verdict: 'grant', user: 'grace', fresh: false });
    await told(callId, 'approval.consumed');
    const settled = await told(callId, 'call.settled');
    expect(settled.attributes['takenOver']).toBeUndefined();
    expect(ids(callId).filter((id) => id.includes(':approval.'))).toHaveLength(3);
    const texts = tap.texts.filter((text) => text.includes('"approval.'));
    expect(texts.join()).not.toContain('stays behind the door');
  });

  it('what nobody wants any more has expired', async () => {
    const { callId } = await world.ask('traced/2');
    await world.ada.cancelCall(callId);
    await told(callId, 'approval.expired');
  });

  it('a person who changed the arguments has taken over, in both calls', async () => {
    const { callId, approvalId } = await world.ask('traced/wrong');
    const { call } = await world.grace.editApproval(approvalId, { args: { identity: 'traced/right' } });
    await world.ended(call.callId);
    expect((await told(callId, 'person.took_over')).attributes).toMatchObject({
      replacedBy: call.callId,
      user: 'grace',
    });
    expect((await told(call.callId, 'person.took_over')).attributes).toMatchObject({ replaces: callId });
    expect((await told(callId, 'call.settled')).attributes).toMatchObject({ state: 'denied', takenOver: true });
    expect((await told(call.callId, 'call.settled')).attributes).toMatchObject({ takenOver: true, replaces: callId });
  });
});

describe('a task that was widened, in the trace', () => {
  const widened = (taskId: string) => tap.events.filter((one) => one.taskId === taskId && one.type === 'task.widened');
  const first = { attributes: { by: 'linus', writable: 'docs/**' } };

  it('PO-7: is told by the repeated request where a router died between storing and telling, and is one event', async () => {
    const linus = world.cluster.client({ user: 'linus', rights: ['tasks:widen'] });
    await world.seen(linus);
    const { taskId } = await world.ada.createTask({ title: 'widened', constraints: { writable: ['src/**'] } });
    const armed = await world.cluster.arm('router', 'router.after-widened:kill');
    const asking = linus.widenTask(taskId, { writable: ['docs/**'] }, { timeoutMs: 20_000 });
    await armed.exited;
    const stored = await world.cluster.ledger.tasks.get(taskKey(ADA.tenant, taskId));
    expect(stored?.value.widened).toHaveLength(1);
    expect(widened(taskId)).toEqual([]);
    await world.cluster.ensure('router');
    expect((await asking).widened).toHaveLength(1);
    await waitFor(() => widened(taskId)[0], { timeoutMs: 15_000, what: 'the event of the widening' });
    expect(widened(taskId)[0]).toMatchObject(first);
    await linus.widenTask(taskId, { hosts: ['a.example'] });
    await waitFor(() => widened(taskId).find(({ attributes }) => attributes['hosts'] === 'a.example'), {
      timeoutMs: 15_000,
    });
    const told = new Map(widened(taskId).map((event) => [event.id, event]));
    expect(told.size).toBe(2);
    for (const event of widened(taskId)) expect(event).toEqual(told.get(event.id));
  });
});
