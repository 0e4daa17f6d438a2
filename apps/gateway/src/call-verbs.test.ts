import { connectFabric, type FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { callIdFor, uuidv7 } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALICE, BOB, type OpenGateway, type OpenOptions, openGateway } from './testing/open-gateway.ts';
import { rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { until } from './testing/until.ts';

const TASK = 't-00000000000000000000000000';
const proposal = (changes = {}) => ({ taskId: TASK, tool: 'workspace.read_file', args: { path: 'a' }, ...changes });

let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
const reopen = async (options: OpenOptions = {}) => {
  await open?.close();
  router = new ScriptedRouter();
  open = await openGateway(connectFabric, router.ports(), options);
};
beforeEach(() => reopen());
afterEach(() => open.close());

const firstCall = async (): Promise<string> => {
  await until(() => router.calls.size > 0, 'a call');
  return [...router.calls.keys()][0] ?? '';
};

describe('Call', () => {
  it('FD-6, FD-8: waits for the end and gives the result as the contract says', async () => {
    const answer = open.connect(open.alice).call(proposal());
    const callId = await firstCall();
    const settled = router.settle(callId);
    expect(await answer).toStrictEqual(settled);
  });

  it('sends the router what the caller proposed, as the actor of the token', async () => {
    const requestKey = uuidv7();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const given = { operationKey: 'pay-1', deadlineMs: 5_000, priority: 'lo', turn: 3, modelCallId: 'm1' } as const;
    const limits = { timeoutMs: 700, outputBytes: 300, outputTokens: 64 };
    await open.connect(open.alice).startCall({ ...proposal(given), limits, requestKey, traceparent });
    expect(JSON.parse(router.asked[0]?.body ?? '')).toStrictEqual({
      ...given,
      limits,
      actor: ALICE,
      taskId: TASK,
      requestKey,
      tool: 'workspace.read_file',
      args: { path: 'a' },
      roles: ['registry:publish'],
      traceparent,
    });
  });

  it('tells the router the rights of the token, whatever the caller says of them', async () => {
    const said = proposal({ args: { roles: ['admin'] }, roles: ['admin'] });
    await open.connect(open.alice).startCall(said);
    await open.connect(open.bob).startCall(said);
    const [alice, bob] = router.asked.map(({ body }) => JSON.parse(body));
    expect(alice).toMatchObject({ actor: ALICE, roles: ['registry:publish'] });
    expect(bob).toMatchObject({ actor: BOB, args: { roles: ['admin'] } });
    expect(bob).not.toHaveProperty('roles');
  });

  it('FD-6: gives the handle at the wait limit and goes on in the fabric', async () => {
    const client = open.connect(open.alice);
    const handle = await client.call(proposal(), { waitMs: 60 });
    expect(handle.state).toBe('queued');
    router.settle(handle.callId);
    expect((await client.getCall(handle.callId)).state).toBe('ok');
  });

  it('gives the handle, not a broken request, when the caller is less patient than its wait limit', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    const { call } = await raw.call({ ...proposal(), waitMs: 60_000 }, { deadlineMs: 1_500 });
    expect(call?.callId).toBe(await firstCall());
    raw.close();
  });

  it('waits no longer than its own limit, and the client asks again with the same key', async () => {
    await reopen({ limits: { longestWaitMs: 40 } });
    const answer = open.connect(open.alice).call(proposal(), { waitMs: 20_000 });
    await until(() => router.count('call') >= 3, 'asking again');
    expect(router.calls.size).toBe(1);
    const settled = router.settle(await firstCall());
    expect(await answer).toStrictEqual(settled);
  });

  it('L5: gives the handle at once when a person must approve', async () => {
    router.scripts.call = () => ({ ...base(), state: 'awaiting_approval', result: approvalResult });
    const view = await open.connect(open.alice).call(proposal(), { waitMs: 20_000 });
    expect(view.state).toBe('awaiting_approval');
    expect(view.result?.status).toBe('needs_approval');
    expect(router.count('call')).toBe(1);
  });

  it.each(['error', 'unknown', 'denied', 'expired', 'cancelled', 'dead_letter'] as const)(
    'RS-1: a call that ends %s is an answer and no failed request',
    async (state) => {
      const answer = open.connect(open.alice).call(proposal());
      router.settle(await firstCall(), state);
      const view = await answer;
      expect(view.state).toBe(state);
      expect(view.result?.status).toBe(state === 'unknown' || state === 'denied' ? state : 'error');
    },
  );

  it('RE-2: waits on while an unknown outcome is being found out, and tells it when the wait is over', async () => {
    const client = open.connect(open.alice);
    const found = client.call(proposal());
    const callId = await firstCall();
    router.loseReceipt(callId);
    const given = await client.call(proposal({ requestKey: uuidv7() }), { waitMs: 0 });
    router.loseReceipt(given.callId);
    const told = await client.getCall(given.callId);
    expect(told).toMatchObject({ state: 'unknown', reconciling: true, result: { status: 'unknown' } });
    const settled = router.settle(callId);
    expect(await found).toStrictEqual(settled);
  });

  it('RE-2: tells an unknown outcome at the wait limit', async () => {
    const answer = open.connect(open.alice).call(proposal(), { waitMs: 150 });
    router.loseReceipt(await firstCall());
    expect(await answer).toMatchObject({ state: 'unknown', reconciling: true, result: { sideEffect: 'possible' } });
  });

  it('hands on a refusal of the router as a result', async () => {
    const refused = { ...base(), state: 'refused', settledAt: 2, result: { ...approvalResult, status: 'denied' } };
    router.scripts.call = () => refused;
    expect(await open.connect(open.alice).call(proposal())).toStrictEqual(refused);
  });

  it('answers two callers of one call from one notice', async () => {
    const requestKey = uuidv7();
    const answers = [open.connect(open.alice), open.connect(open.alice)].map((client) =>
      client.call(proposal({ requestKey })),
    );
    await until(() => router.count('call') === 2, 'both callers');
    const settled = router.settle(await firstCall());
    expect(await Promise.all(answers)).toStrictEqual([settled, settled]);
  });

  it('RE-3: finds the end by asking when the notice was lost', async () => {
    await reopen({ pollMs: 30 });
    const answer = open.connect(open.alice).call(proposal());
    const callId = await firstCall();
    const settled = router.settle(callId, 'ok', true);
    expect(await answer).toStrictEqual(settled);
  });

  it('does not miss a notice that comes before the router has answered', async () => {
    const requestKey = uuidv7();
    const callId = callIdFor(ALICE, requestKey, Date.now());
    const view: CallView = {
      ...base(),
      callId,
      state: 'ok',
      settledAt: 2,
      result: { ...approvalResult, status: 'ok' },
    };
    router.scripts.call = () => {
      router.notify({ actor: ALICE, view });
      return { ...view, state: 'queued', result: undefined, settledAt: undefined };
    };
    expect(await open.connect(open.alice).call(proposal({ requestKey }))).toStrictEqual(view);
  });

  it('RS-4: a notice of another actor for the same call id is not delivered', async () => {
    await reopen({ pollMs: 30 });
    const answer = open.connect(open.alice).call(proposal());
    const callId = await firstCall();
    const known = router.calls.get(callId);
    const forged = { ...known?.view, state: 'ok', result: { ...approvalResult, status: 'ok', summary: 'of bob' } };
    for (const actor of [
      { ...ALICE, user: 'bob' },
      { ...ALICE, tenant: 'evil' },
      { ...ALICE, agent: 'x' },
    ]) {
      router.notify({ actor, view: forged as CallView });
    }
    const settled = router.settle(callId, 'error', true);
    expect(await answer).toStrictEqual(settled);
  });

  it('keeps waiting when the router cannot be asked for a while', async () => {
    await reopen({ pollMs: 20 });
    const answer = open.connect(open.alice).call(proposal());
    const callId = await firstCall();
    router.away = 5;
    await until(() => router.away === 0, 'five lost polls');
    const settled = router.settle(callId, 'ok', true);
    expect(await answer).toStrictEqual(settled);
  });

  it('leaves the call alone when the client goes away, and asks for it no more', async () => {
    await reopen({ pollMs: 20 });
    const gone = new AbortController();
    const client = open.connect(open.alice);
    const answer = client.call(proposal(), { signal: gone.signal });
    answer.catch(() => {});
    const callId = await firstCall();
    await until(() => router.count('getCall') > 0, 'asking for it');
    gone.abort(new Error('had enough'));
    await expect(answer).rejects.toThrow('had enough');
    const asked = router.count('getCall');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(router.count('getCall')).toBeLessThanOrEqual(asked + 2);
    expect(router.count('cancelCall')).toBe(0);
    expect((await client.getCall(callId)).state).toBe('queued');
  });

  it('gives the handle at once when too many calls are waited for', async () => {
    await reopen({ limits: { pendingCalls: 1 } });
    const client = open.connect(open.alice);
    const first = client.call(proposal());
    const callId = await firstCall();
    const raw = rawTools(open.gateway.address, open.alice);
    const second = await raw.call({ ...proposal(), waitMs: 60_000 });
    expect(second.call?.state).toBe(3);
    router.settle(callId);
    expect((await first).state).toBe('ok');
    raw.close();
  });

  it('passes the fault point after an acceptance, and not after a refusal', async () => {
    const points: string[] = [];
    await reopen({ faults: { at: (point) => void points.push(point) } });
    const client = open.connect(open.alice);
    await client.startCall(proposal());
    expect(points).toEqual(['gateway.after-accept']);
    router.scripts.call = () => ({ ...base(), state: 'refused' });
    await client.startCall(proposal());
    expect(points).toHaveLength(1);
  });
});

const base = (): CallView => ({
  callId: '2969-00000000000000000000000000',
  state: 'queued',
  taskId: TASK,
  tool: { name: 'workspace.read_file', version: '1.0.0' },
  createdAt: 1,
});

const approvalResult = {
  status: 'needs_approval',
  summary: 'a person must say yes',
  sideEffect: 'none',
  trust: 'trusted',
  callId: '2969-00000000000000000000000000',
  tool: { name: 'workspace.read_file', version: '1.0.0' },
  attempt: 0,
} as const;
