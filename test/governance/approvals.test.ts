import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { openKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA } from '../support/cluster.ts';
import { ApprovalCluster, ERASE, POST } from './support/approval-cluster.ts';

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

describe('a yes', () => {
  it('PO-3: is asked for with who, as what, does what to what, and acts at once', async () => {
    const { callId, approvalId, view } = await world.ask('shop/checkout/1');
    expect(view).toMatchObject({ state: 'awaiting_approval', approvalId, result: { status: 'needs_approval' } });
    const [shown] = (await world.grace.listApprovals()).approvals;
    expect(shown).toMatchObject({
      approvalId,
      state: 'pending',
      callId,
      risk: 'external_write',
      strength: 'confirm',
      resource: 'note:repo:shop/checkout/1',
      whole: true,
    });
    expect(shown?.preview).toContain('ada, through the agent coder, wants to: post a note at shop/checkout/1');
    expect(shown?.preview).toContain('  identity: shop/checkout/1');
    expect(world.times('shop/checkout/1')).toBe(0);
    const granted = await world.grace.grantApproval(approvalId, 'go on');
    expect(granted).toMatchObject({ decidedBy: 'grace', reason: 'go on' });
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times('shop/checkout/1')).toBe(1);
    expect(await world.grace.getApproval(approvalId)).toMatchObject({ state: 'consumed' });
    expect((await world.grace.listApprovals()).approvals).toEqual([]);
    const decided = (await world.grace.listApprovals({ decided: true })).approvals;
    expect(decided.map((one) => one.approvalId)).toContain(approvalId);
  });

  it('PO-4: counts once: the same again is the same answer, another person comes too late', async () => {
    const { callId, approvalId } = await world.ask('twice');
    await world.grace.grantApproval(approvalId);
    await world.ended(callId);
    expect(await world.grace.grantApproval(approvalId)).toMatchObject({ state: 'consumed' });
    expect(await refusal(world.linus.grantApproval(approvalId))).toBe('approval_closed');
    expect(await refusal(world.grace.denyApproval(approvalId))).toBe('approval_closed');
    expect(world.times('twice')).toBe(1);
  });

  it('can be waited for: a watch holds until the end, and the same request finds the call', async () => {
    const { callId, approvalId, requestKey } = await world.ask('waits');
    const states: string[] = [];
    const watching = (async () => {
      for await (const news of world.ada.watchCall(callId)) if (news.type === 'call') states.push(news.call.state);
    })();
    await waitFor(() => states.includes('awaiting_approval'));
    await world.grace.grantApproval(approvalId);
    await watching;
    expect(states.at(-1)).toBe('ok');
    const again = await world.ada.call({ taskId: world.taskId, tool: POST, args: { identity: 'waits' }, requestKey });
    expect(again).toMatchObject({ callId, approvalId, state: 'ok' });
    expect(world.times('waits')).toBe(1);
  });

  it('L5: the clock of the execution stands still while a person is asked, and nothing is held', async () => {
    const identity = 'stands-still';
    const asked = { taskId: world.taskId, tool: POST, args: { identity }, deadlineMs: 2_000 };
    const { callId, approvalId } = await world.ada.call(asked);
    expect((await world.cluster.ledger.open.get(openKey(ADA.tenant, callId)))?.value.sent).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await world.grace.grantApproval(approvalId ?? '');
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
  });
});

describe('a no', () => {
  it('ends the call and says why', async () => {
    const { callId, approvalId } = await world.ask('denied');
    expect(await world.grace.denyApproval(approvalId, 'not on a Friday')).toMatchObject({ state: 'denied' });
    const end = await world.ended(callId);
    expect(end).toMatchObject({ state: 'denied', result: { status: 'denied', error: { type: 'approval_denied' } } });
    expect(end.result?.summary).toContain('not on a Friday');
    expect(world.times('denied')).toBe(0);
  });

  it('PO-4: racing with a yes: one of them counts, and the end is what it says', async () => {
    for (let round = 0; round < 40; round += 1) {
      const identity = `race-${round}`;
      const { callId, approvalId } = await world.ask(identity);
      const [yes, no] = await Promise.all([
        refusal(world.grace.grantApproval(approvalId)),
        refusal(world.linus.denyApproval(approvalId)),
      ]);
      expect([yes, no].sort()).toEqual(['answered', 'approval_closed']);
      const end = await world.ended(callId);
      expect(end.state).toBe(yes === 'answered' ? 'ok' : 'denied');
      expect(world.times(identity)).toBe(yes === 'answered' ? 1 : 0);
    }
  }, 60_000);
});

describe('who may answer', () => {
  it('PO-10: neither who asked, through whichever agent and with whatever rights, nor an ordinary user', async () => {
    const { approvalId } = await world.ask('not-yours');
    const rights = ['approvals:decide', 'approvals:strong'];
    const asker = world.cluster.client({ rights });
    const otherAgent = world.cluster.client({ agent: 'reviewer', rights });
    const bob = world.cluster.client({ user: 'bob' });
    const rival = world.cluster.client({ tenant: 'rival', user: 'grace', rights });
    await world.seen(asker, otherAgent, bob, rival);
    for (const who of [asker, otherAgent]) {
      expect(await refusal(who.grantApproval(approvalId))).toBe('forbidden');
      expect(await refusal(who.editApproval(approvalId, { args: { identity: 'mine' } }))).toBe('forbidden');
      expect((await who.getApproval(approvalId)).state).toBe('pending');
    }
    for (const who of [bob, rival]) {
      expect(await refusal(who.grantApproval(approvalId))).toBe('not_found');
      expect(await refusal(who.getApproval(approvalId))).toBe('not_found');
      expect((await who.listApprovals()).approvals).toEqual([]);
    }
    expect(await world.record(approvalId)).toMatchObject({ state: 'pending' });
    expect(world.times('not-yours') + world.times('mine')).toBe(0);
    await world.grace.denyApproval(approvalId);
  });

  it('PO-10: by scope: what lies outside does not exist for them', async () => {
    const scoped = world.cluster.client({ user: 'hedy', rights: ['approvals:decide:note:repo:shop'] });
    await world.seen(scoped);
    const [inside, outside] = [await world.ask('shop/a'), await world.ask('shopping/a')];
    expect((await scoped.listApprovals()).approvals.map(({ callId }) => callId)).toEqual([inside.callId]);
    expect(await refusal(scoped.grantApproval(outside.approvalId))).toBe('not_found');
    await scoped.grantApproval(inside.approvalId);
    expect(await world.ended(inside.callId)).toMatchObject({ state: 'ok' });
    await world.grace.denyApproval(outside.approvalId);
  });

  it('a strong one by token needs two persons with the right to it', async () => {
    const { callId, approvalId } = await world.ask('erase/1', { tool: ERASE });
    const shown = await world.grace.getApproval(approvalId);
    expect(shown).toMatchObject({ strength: 'strong', risk: 'irreversible' });
    expect(shown.expiresAt - shown.createdAt).toBe(600_000);
    expect(await refusal(world.grace.grantApproval(approvalId))).toBe('forbidden');
    expect(await world.linus.grantApproval(approvalId)).toMatchObject({ state: 'pending', grantedBy: ['linus'] });
    expect(await world.linus.grantApproval(approvalId)).toMatchObject({ state: 'pending', grantedBy: ['linus'] });
    expect(await world.cluster.call(callId)).toMatchObject({ state: 'awaiting_approval' });
    expect(await world.alan.grantApproval(approvalId)).toMatchObject({ decidedBy: 'alan' });
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times('erase/1')).toBe(1);
  });

  it('PO-3: what cannot be shown whole needs a strong one', async () => {
    const { approvalId } = await world.ask('long', { body: 'x'.repeat(17_000) });
    const shown = await world.grace.getApproval(approvalId);
    expect(shown).toMatchObject({ strength: 'strong', whole: false });
    expect(await refusal(world.grace.grantApproval(approvalId))).toBe('forbidden');
    await world.grace.denyApproval(approvalId);
  });
});

describe('an answer that comes too late', () => {
  it('after its task has ended runs nothing, and is told so', async () => {
    const { taskId } = await world.ada.createTask({ title: 'ends' });
    const { callId, approvalId } = await world.ask('too-late', { taskId });
    await world.ada.endTask(taskId, 'abandoned');
    expect(await refusal(world.grace.grantApproval(approvalId))).toBe('approval_closed');
    expect(await world.ended(callId)).toMatchObject({ state: 'cancelled', result: { sideEffect: 'none' } });
    expect(await world.record(approvalId)).toMatchObject({ state: 'expired' });
    expect(world.times('too-late')).toBe(0);
  });

  it('after its call was cancelled runs nothing, and nobody is asked any more', async () => {
    const { callId, approvalId } = await world.ask('cancelled');
    await world.ada.cancelCall(callId);
    expect((await world.grace.listApprovals()).approvals).toEqual([]);
    expect(await refusal(world.grace.grantApproval(approvalId))).toBe('approval_closed');
    expect(world.times('cancelled')).toBe(0);
  });

  it('PO-4: between yes and dispatch: what has expired is not used', async () => {
    const { callId, approvalId } = await world.ask('expires');
    const by = { user: 'grace', tokenId: 'grace' };
    await world.tamper(approvalId, { state: 'granted', decidedBy: by, expiresAt: Date.now() + 1_000 });
    expect(await world.ended(callId)).toMatchObject({
      state: 'error',
      result: { error: { type: 'approval_expired' } },
    });
    expect(world.times('expires')).toBe(0);
  });
});

describe('a yes is bound to what was shown', () => {
  it.each<[string, Parameters<ApprovalCluster['tamper']>[1]]>([
    ['other arguments', { argsHash: 'f'.repeat(64) }],
    ['another version of the tool', { toolDigest: 'f'.repeat(64) }],
    ['another preview', { preview: 'nothing of importance' }],
    ['another account', { account: 'root' }],
    ['another resource', { resource: 'note:repo:elsewhere' }],
  ])('PO-4: and not to %s', async (what, changes) => {
    const { callId, approvalId } = await world.ask(`bound to ${what}`);
    await world.tamper(approvalId, { ...changes, state: 'granted' });
    expect(await world.ended(callId)).toMatchObject({
      state: 'denied',
      result: { status: 'denied', sideEffect: 'none', error: { type: 'approval_changed' } },
    });
    expect(world.times(`bound to ${what}`)).toBe(0);
  });

  it('PO-4: the same request key with other arguments is a conflict, and the yes stays with the first', async () => {
    const { callId, approvalId, requestKey } = await world.ask('first');
    const other = { taskId: world.taskId, tool: POST, args: { identity: 'second' }, requestKey };
    expect(await world.ada.call(other)).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });
    await world.grace.grantApproval(approvalId);
    await world.ended(callId);
    expect([world.times('first'), world.times('second')]).toEqual([1, 0]);
  });
});

describe('a person changes the arguments', () => {
  it('PO-4: makes a new call of who asked; the old one ends denied and names it', async () => {
    const { callId, approvalId } = await world.ask('edit/wrong');
    const wanted = { args: { identity: 'edit/right' }, requestKey: uuidv7(), reason: 'the other one' };
    const edited = await world.grace.editApproval(approvalId, wanted);
    expect(edited.replaced).toMatchObject({ state: 'denied', replacedBy: edited.call.callId });
    expect(edited.approval).toMatchObject({ callId: edited.call.callId, decidedBy: 'grace' });
    expect(edited.approval.argsHash).not.toBe(edited.replaced.argsHash);
    expect(await world.ended(edited.call.callId)).toMatchObject({ state: 'ok', actor: ADA });
    const old = await world.ended(callId);
    expect(old).toMatchObject({ state: 'denied', result: { evidence: [{ kind: 'call', ref: edited.call.callId }] } });
    expect(await world.ada.getCall(edited.call.callId)).toMatchObject({ state: 'ok' });
    expect([world.times('edit/wrong'), world.times('edit/right')]).toEqual([0, 1]);
    const again = await world.grace.editApproval(approvalId, wanted);
    expect(again.call.callId).toBe(edited.call.callId);
    expect(await refusal(world.linus.editApproval(approvalId, { args: { identity: 'x' } }))).toBe('approval_closed');
    expect(world.times('edit/right')).toBe(1);
  });

  it('the new arguments pass every check first, and what is refused changes nothing', async () => {
    const { callId, approvalId } = await world.ask('edit/kept');
    expect(await refusal(world.grace.editApproval(approvalId, { args: { identity: 5 } }))).toBe('invalid_arguments');
    expect(await world.record(approvalId)).toMatchObject({ state: 'pending' });
    const hedy = world.cluster.client({ user: 'hedy', rights: ['approvals:decide:note:repo:edit'] });
    await world.seen(hedy);
    expect(await refusal(hedy.editApproval(approvalId, { args: { identity: 'vault/1' } }))).toBe('forbidden');
    expect(await world.record(approvalId)).toMatchObject({ state: 'pending' });
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times('vault/1')).toBe(0);
  });
});
