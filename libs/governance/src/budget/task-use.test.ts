import { MOST_OPEN_TURNS, MOST_TAKEN_IDS, type TaskBudget, TaskUse } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budgetError, wallDenial } from './budget-error.ts';
import { type BudgetWant, nothingUsed, takeFromBudget } from './task-use.ts';

const want = (n: number, changes: Partial<BudgetWant> = {}): BudgetWant => ({
  callId: `c${n}`,
  keyTime: n,
  tool: 'notes.find',
  turn: 1,
  cost: 1,
  ...changes,
});

const after = (budget: TaskBudget, wants: readonly BudgetWant[]) => {
  let use = nothingUsed('t-1');
  const answers = wants.map((each) => {
    const take = takeFromBudget(use, budget, each);
    if (take.type === 'taken') use = take.use;
    return take.type === 'denied' ? take.denial.limit : take.type;
  });
  return { use, answers };
};

describe('the budget of a task', () => {
  it.each([
    ['rounds', { rounds: 1 }, [want(1), want(2, { turn: 2 })], ['taken', 'rounds']],
    [
      'calls in a turn',
      { callsPerTurn: 1 },
      [want(1), want(2, { tool: 'a.b' }), want(3, { turn: 2 })],
      ['taken', 'calls_per_turn', 'taken'],
    ],
    [
      'calls of a tool in a turn',
      { callsPerToolPerTurn: 1 },
      [want(1), want(2), want(3, { tool: 'a.b' })],
      ['taken', 'calls_per_tool_per_turn', 'taken'],
    ],
    [
      'what a contract allows in a turn',
      {},
      [want(1, { callsPerTurn: 1 }), want(2, { callsPerTurn: 1 })],
      ['taken', 'calls_per_tool_per_turn'],
    ],
    [
      'units',
      { spend: 5 },
      [want(1, { cost: 3 }), want(2, { cost: 3 }), want(3, { cost: 2 })],
      ['taken', 'spend', 'taken'],
    ],
    ['a call that costs nothing', { spend: 1 }, [want(1), want(2, { cost: 0 }), want(3)], ['taken', 'taken', 'spend']],
  ] as const)('FD-5: bounds %s', (_what, budget, wants, answers) => {
    expect(after(budget, wants).answers).toEqual(answers);
  });

  it('FD-5: a retry takes once', () => {
    expect(after({ spend: 1 }, [want(1), want(1), want(2)]).answers).toEqual(['taken', 'had', 'spend']);
  });

  it('calls without a turn belong to one turn, which is never over', () => {
    const wants = Array.from({ length: 20 }, (_, n) => want(n, { turn: n % 2 === 0 ? undefined : n }));
    const { answers } = after({ callsPerTurn: 3 }, wants);
    expect(answers.filter((_, n) => n % 2 === 0)).toEqual([
      ...Array(3).fill('taken'),
      ...Array(7).fill('calls_per_turn'),
    ]);
  });

  it('a turn is over when some later ones have begun', () => {
    const turns = [1, 2, 3, 4, 5, 6].map((turn) => want(turn, { turn }));
    const { answers, use } = after({ rounds: 50 }, [...turns, want(7, { turn: 2 }), want(8, { turn: 3 })]);
    expect(answers.slice(6)).toEqual(['turn', 'taken']);
    expect(use).toMatchObject({ rounds: 6, closed: 2 });
    expect(use.open).toHaveLength(MOST_OPEN_TURNS);
  });

  it('forgets ids in the end, asks about those that may be among them, and stays small', () => {
    const wants = Array.from({ length: 3_000 }, (_, n) => want(n, { turn: n >> 3, tool: `a.b${n % 9}` }));
    const { use, answers } = after({ callsPerTurn: 1_000 }, wants);
    expect(new Set(answers)).toEqual(new Set(['taken']));
    expect(use.taken).toHaveLength(MOST_TAKEN_IDS);
    expect(JSON.stringify(TaskUse.parse(use)).length).toBeLessThan(8_000);
    expect(takeFromBudget(use, {}, want(5, { turn: 400 }))).toEqual({ type: 'ask' });
    expect(takeFromBudget(use, {}, want(5, { turn: 400 }), true).type).toBe('taken');
  });

  it('says which limit it was, and when it renews', () => {
    const say = (budget: TaskBudget, ...wants: BudgetWant[]) => {
      const take = takeFromBudget(after(budget, wants).use, budget, want(99));
      return take.type === 'denied' ? budgetError(take.denial) : undefined;
    };
    expect(say({ callsPerTurn: 1 }, want(1))).toMatchObject({
      type: 'budget_exceeded',
      message: 'calls in this turn: 1 of 1 are used (limit calls_per_turn); it renews with the next turn',
    });
    expect(say({ spend: 1 }, want(1))?.message).toContain('it does not renew');
    const denial = wallDenial({ createdAt: 0, budget: { wallMs: 1_000 } }, 1_000);
    expect(denial && budgetError(denial).message).toContain('limit wall');
    expect(wallDenial({ createdAt: 0, budget: { wallMs: 1_000 } }, 999)).toBeUndefined();
    expect(wallDenial({ createdAt: 0 }, 1e15)).toBeUndefined();
  });

  it('FD-5: gives never more than any limit, whatever is asked in whatever order', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });
    const asked = fc.record({
      n: fc.integer({ min: 0, max: 60 }),
      turn: fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
      tool: fc.constantFrom('a.a', 'b.b', 'c.c'),
      cost: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.record({ rounds: limit, turn: limit, tool: limit, spend: limit }),
        fc.array(asked, { maxLength: 150 }),
        (limits, asks) => {
          const { rounds, turn: callsPerTurn, tool: callsPerToolPerTurn, spend } = limits;
          const all = { rounds, callsPerTurn, callsPerToolPerTurn, spend };
          const budget = JSON.parse(JSON.stringify(all)) as TaskBudget;
          const given = new Map<string, (typeof asks)[number]>();
          let use = nothingUsed('t-1');
          for (const ask of asks) {
            const take = takeFromBudget(use, budget, want(ask.n, ask));
            if (take.type === 'had') expect(given.has(`c${ask.n}`)).toBe(true);
            if (take.type !== 'taken') continue;
            expect(given.has(`c${ask.n}`)).toBe(false);
            given.set(`c${ask.n}`, ask);
            use = take.use;
          }
          const calls = [...given.values()];
          const most = (key: (ask: (typeof asks)[number]) => string) =>
            Math.max(0, ...[...Map.groupBy(calls, key).values()].map((group) => group.length));
          expect(new Set(calls.map(({ turn }) => turn)).size).toBeLessThanOrEqual(rounds ?? 1e9);
          expect(most(({ turn }) => `${turn}`)).toBeLessThanOrEqual(callsPerTurn ?? 1e9);
          expect(most(({ turn, tool }) => `${turn} ${tool}`)).toBeLessThanOrEqual(callsPerToolPerTurn ?? 1e9);
          expect(calls.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(spend ?? 1e9);
        },
      ),
      { numRuns: 400 },
    );
  });
});
