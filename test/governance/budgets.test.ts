import { uuidv7 } from '@toolfabric/kernel';
import { useKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, RouterWorld } from './support/router-world.ts';

let world: RouterWorld;
/** Resolved by the test: what the slow tool waits for. */
let release: () => void = () => {};
let gate: Promise<void> = Promise.resolve();
const close = () => {
  gate = new Promise((resolve) => {
    release = resolve;
  });
};

beforeAll(async () => {
  world = await RouterWorld.start({
    routers: 2,
    tools: [
      {
        contract: { name: 'notes.find' },
        effect: 'none',
        handle: async () => ({}),
      },
      { contract: { name: 'notes.list' }, effect: 'none', handle: async () => ({}) },
      { contract: { name: 'notes.dear', governance: { cost: 40 } }, effect: 'none', handle: async () => ({}) },
      {
        contract: { name: 'notes.rare', governance: { max_calls_per_turn: 2 } },
        effect: 'none',
        handle: async () => ({}),
      },
      {
        contract: { name: 'notes.slow' },
        effect: 'none',
        handle: async () => {
          await gate;
          return {};
        },
      },
    ],
  });
});
afterAll(async () => {
  release();
  await world.stop();
});

const times = (answers: readonly string[], answer: string) => answers.filter((each) => each === answer).length;

describe('the budget of a task, with two routers', () => {
  it.each([
    ['calls in a turn', { callsPerTurn: 7 }, 7],
    ['calls of a tool in a turn', { callsPerToolPerTurn: 6 }, 6],
    ['units', { spend: 5 }, 5],
  ])('FD-5: never gives more than its %s, however many are asked at once', async (_what, budget, most) => {
    const taskId = await world.task({ budget });
    const answers = await Promise.all(Array.from({ length: 40 }, () => world.tell({ taskId, turn: 1 })));
    expect([times(answers, 'queued') + times(answers, 'ok'), times(answers, 'budget_exceeded')]).toEqual([
      most,
      40 - most,
    ]);
    const use = (await world.bus.uses.get(useKey(ADA.tenant, taskId)))?.value;
    expect(use).toMatchObject({ rounds: 1, spent: most });
    expect(new Set(use?.taken.map(({ callId }) => callId)).size).toBe(most);
  });

  it('FD-5: rounds are bounded for ever, calls in a turn until the next', async () => {
    const taskId = await world.task({ budget: { rounds: 2, callsPerTurn: 1 } });
    const answers: string[] = [];
    for (const turn of [1, 1, 2, 2, 3]) answers.push(await world.tell({ taskId, turn }));
    expect(answers.map((each) => (each === 'budget_exceeded' ? 'no' : 'yes'))).toEqual([
      'yes',
      'no',
      'yes',
      'no',
      'no',
    ]);
  });

  it('FD-5: says which limit it was and when it renews, as a denial that is no retry', async () => {
    const taskId = await world.task({ budget: { callsPerTurn: 1 } });
    await world.tell({ taskId, turn: 4 });
    const view = await world.front.call({ taskId, turn: 4 });
    expect(view).toMatchObject({
      state: 'refused',
      result: {
        status: 'denied',
        sideEffect: 'none',
        error: { type: 'budget_exceeded', layer: 'policy', retryable: false },
      },
    });
    expect(view.result?.error?.message).toMatch(/calls in this turn: 1 of 1 .*renews with the next turn/);
  });

  it('FD-5: a retry takes its share once, and gets its call when nothing is left', async () => {
    const taskId = await world.task({ budget: { spend: 1 } });
    const requestKey = uuidv7();
    const [first, ...others] = await Promise.all(
      Array.from({ length: 6 }, () => world.front.call({ taskId, requestKey })),
    );
    expect(new Set([first, ...others].map((view) => view?.callId)).size).toBe(1);
    expect((await world.ended(first?.callId ?? '')).state).toBe('ok');
    expect((await world.front.call({ taskId, requestKey })).callId).toBe(first?.callId);
    expect(await world.tell({ taskId })).toBe('budget_exceeded');
  });

  it('FD-5: takes what the contract costs, and keeps the limit of the contract where the task has none', async () => {
    const dear = await world.task({ budget: { spend: 100 } });
    const answers: string[] = [];
    for (let n = 0; n < 3; n += 1) answers.push(await world.tell({ taskId: dear, tool: 'notes.dear' }));
    expect(answers.at(-1)).toBe('budget_exceeded');
    expect(times(answers, 'budget_exceeded')).toBe(1);
    const plain = await world.task();
    const rare = await Promise.all(
      Array.from({ length: 6 }, () => world.tell({ taskId: plain, turn: 1, tool: 'notes.rare' })),
    );
    expect(times(rare, 'budget_exceeded')).toBe(4);
    expect(await world.tell({ taskId: plain, turn: 2, tool: 'notes.rare' })).not.toBe('budget_exceeded');
  });

  it('a task without a budget has no record of what it used', async () => {
    const taskId = await world.task({ budget: { wallMs: 60_000 } });
    await world.tell({ taskId, turn: 1 });
    expect(await world.bus.uses.get(useKey(ADA.tenant, taskId))).toBeUndefined();
  });

  it('FD-5: no deadline lies behind the end of the task, and nothing begins after it', async () => {
    const taskId = await world.task({ budget: { wallMs: 1_000 } });
    const task = await world.front.ask('getTask', { actor: ADA, taskId });
    const { callId } = await world.front.call({ taskId });
    const call = await world.bus.calls.get(`call.${Number(callId.split('-')[0]) % 8}.${ADA.tenant}.${callId}`);
    expect(call?.value.deadline).toBeLessThanOrEqual(task.createdAt + 1_000);
    await expect.poll(() => world.tell({ taskId }), { timeout: 10_000 }).toBe('budget_exceeded');
  });

  it('what is refused for another reason takes nothing', async () => {
    const taskId = await world.task({ budget: { spend: 1 } });
    expect(await world.tell({ taskId, args: { text: 5 } })).toBe('invalid_arguments');
    expect(await world.tell({ taskId, tool: 'notes.none' })).toBe('unknown_tool');
    expect(await world.tell({ taskId })).toMatch(/queued|ok/);
  });
});

const approver = { ...ADA, user: 'grace', agent: 'person', tokenId: 't-grace', rights: ['approvals:decide'] };

describe('a serial task, with two routers', () => {
  it('RT-7: has one call under way, and says so to the others', async () => {
    const taskId = await world.task({ mode: 'serial' });
    close();
    const answers = await Promise.all(Array.from({ length: 12 }, () => world.tell({ taskId, tool: 'notes.slow' })));
    expect([times(answers, 'queued'), times(answers, 'serial_task')]).toEqual([1, 11]);
    const view = await world.front.call({ taskId });
    expect(view.result?.error).toMatchObject({
      type: 'serial_task',
      retryable: true,
      retryAfterMs: expect.any(Number),
    });
    release();
    await expect.poll(() => world.tell({ taskId }), { timeout: 10_000 }).toMatch(/queued|ok/);
  });

  it('RT-7: goes on after each end, one after the other', async () => {
    const taskId = await world.task({ mode: 'serial' });
    for (let n = 0; n < 5; n += 1) {
      const { callId } = await world.front.call({ taskId, turn: n });
      expect((await world.ended(callId)).state).toBe('ok');
    }
  });

  it('RT-7: a call with other arguments takes the place of the one that waited, and nobody comes in between', async () => {
    const taskId = await world.task({ mode: 'serial', constraints: { confirm: ['notes.find'] } });
    const waiting = await world.front.call({ taskId });
    expect(waiting.state).toBe('awaiting_approval');
    const edit = { approver, approvalId: waiting.approvalId ?? '', requestKey: uuidv7() };
    const refused = world.front.ask('editApproval', { ...edit, args: { text: 5 } });
    await expect(refused).rejects.toMatchObject({ type: 'invalid_arguments' });
    expect(await world.tell({ taskId, tool: 'notes.list' })).toBe('serial_task');
    const { call, replaced } = await world.front.ask('editApproval', { ...edit, args: { text: 'other' } });
    expect(replaced).toMatchObject({ state: 'denied', replacedBy: call.callId });
    expect(await world.front.ask('editApproval', { ...edit, args: { text: 'other' } })).toMatchObject({
      call: { callId: call.callId },
    });
    expect((await world.ended(call.callId)).state).toBe('ok');
    expect((await world.ended(waiting.callId)).state).toBe('denied');
    expect((await world.bus.uses.get(useKey(ADA.tenant, taskId)))?.value.serial?.callId).toBe(call.callId);
    await expect.poll(() => world.tell({ taskId, tool: 'notes.list' }), { timeout: 10_000 }).toMatch(/queued|ok/);
  });

  it('RT-7: while the one that waited may still be granted, the place stays its own', async () => {
    const taskId = await world.task({ mode: 'serial', constraints: { confirm: ['notes.slow'] } });
    close();
    const waiting = await world.front.call({ taskId, tool: 'notes.slow' });
    const approvalId = waiting.approvalId ?? '';
    await world.front.ask('decideApproval', { approver, approvalId, verdict: 'grant' });
    const late = world.front.ask('editApproval', { approver, approvalId, requestKey: uuidv7(), args: { text: 'b' } });
    await expect(late).rejects.toBeDefined();
    expect((await world.bus.uses.get(useKey(ADA.tenant, taskId)))?.value.serial?.callId).toBe(waiting.callId);
    expect(await world.tell({ taskId })).toBe('serial_task');
    release();
    expect((await world.ended(waiting.callId)).state).toBe('ok');
  });
});
