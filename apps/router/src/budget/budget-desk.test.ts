import type { TaskBudget, TaskUse } from '@toolfabric/contract';
import { RevisionConflict, type Store, StoreUnavailable, type Versioned } from '@toolfabric/ports';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetDesk } from './budget-desk.ts';

/** One record that every router reaches, which answers late, not at all, or after it was told. */
class ShakyStore implements Store<TaskUse> {
  stored: Versioned<TaskUse> | undefined;
  readonly #next: () => number;

  constructor(next: () => number) {
    this.#next = next;
  }

  async #step<T>(act: () => T): Promise<T> {
    const roll = this.#next();
    for (let turns = roll % 5; turns > 0; turns -= 1) await Promise.resolve();
    if (roll % 11 === 0) throw new StoreUnavailable('never arrived');
    const done = act();
    for (let turns = roll % 7; turns > 0; turns -= 1) await Promise.resolve();
    if (roll % 13 === 0) throw new StoreUnavailable('applied, unanswered');
    return done;
  }

  get(): Promise<Versioned<TaskUse> | undefined> {
    return this.#step(() => this.stored);
  }
  create(_key: string, value: TaskUse): Promise<number> {
    return this.#write(value, 0);
  }
  update(_key: string, value: TaskUse, revision: number): Promise<number> {
    return this.#write(value, revision);
  }
  async remove(): Promise<boolean> {
    return false;
  }
  async keys(): Promise<string[]> {
    return [];
  }
  async lastRevision(): Promise<number> {
    return this.stored?.revision ?? 0;
  }

  #write(value: TaskUse, expected: number): Promise<number> {
    return this.#step(() => {
      if ((this.stored?.revision ?? 0) !== expected) throw new RevisionConflict('somebody wrote first');
      this.stored = { value, revision: expected + 1 };
      return expected + 1;
    });
  }
}

let time = 0;
/** Stands still but for its sleeps. */
const quick = {
  now: () => time,
  monotonic: () => time,
  sleep: async (ms: number) => {
    time += ms;
  },
};

describe('a budget under crashes', () => {
  it('FD-5: any interleaving of two routers that die gives never more than the limit', async () => {
    const asked = fc.record({
      router: fc.integer({ min: 0, max: 1 }),
      call: fc.integer({ min: 0, max: 25 }),
      turn: fc.integer({ min: 0, max: 2 }),
      /** The router dies over it: its answer is never heard, and whoever comes next has forgotten everything. */
      dies: fc.boolean(),
      /** Waits for the answer before the next is asked. */
      waits: fc.boolean(),
    });
    const run = fc.asyncProperty(
      fc.array(asked, { maxLength: 60 }),
      fc.array(fc.nat(10_000), { minLength: 1, maxLength: 200 }),
      async (asks, rolls) => {
        let at = 0;
        const store = new ShakyStore(() => rolls[at++ % rolls.length] ?? 1);
        const budget: TaskBudget = { callsPerTurn: 4, rounds: 2, spend: 7 };
        const desks = [new BudgetDesk(store, quick), new BudgetDesk(store, quick)];
        const given = new Map<string, number>();
        const pending: Promise<void>[] = [];
        for (const { router, call, turn, dies, waits } of asks) {
          const callId = `c${call}`;
          const want = { callId, keyTime: call, tool: 'a.b', turn, cost: 1 };
          const ask = { tenant: 'acme', taskId: 't-1', budget, want, serial: false };
          const answer = (desks[router] as BudgetDesk).take(ask).then(
            ({ type }) => {
              // The same call in another turn is the same call: it was counted where it was first.
              if (!dies && (type === 'taken' || type === 'had')) given.set(callId, turn);
            },
            (thrown) => {
              if (!(thrown instanceof StoreUnavailable)) throw thrown;
            },
          );
          if (dies) desks[router] = new BudgetDesk(store, quick);
          if (waits) await answer;
          else pending.push(answer);
        }
        await Promise.all(pending);
        const use = store.stored?.value;
        const counted = new Set(use?.taken.map(({ callId }) => callId));
        for (const callId of given.keys()) expect(counted.has(callId)).toBe(true);
        expect(counted.size).toBe(use?.spent ?? 0);
        expect(use?.spent ?? 0).toBeLessThanOrEqual(7);
        expect(use?.rounds ?? 0).toBeLessThanOrEqual(2);
        for (const { calls } of use?.open ?? []) expect(calls).toBeLessThanOrEqual(4);
      },
    );
    await fc.assert(run, { numRuns: 200 });
  });

  it('RT-7: of two routers one gives the place of a serial task', async () => {
    const asked = fc.array(fc.record({ router: fc.nat(1), call: fc.nat(8) }), { minLength: 2, maxLength: 30 });
    const run = fc.asyncProperty(
      asked,
      fc.array(fc.nat(10_000), { minLength: 1, maxLength: 99 }),
      async (asks, rolls) => {
        let at = 0;
        const store = new ShakyStore(() => rolls[at++ % rolls.length] ?? 1);
        const desks = [new BudgetDesk(store, quick), new BudgetDesk(store, quick)];
        const holders = new Set<string>();
        await Promise.all(
          asks.map(({ router, call }) => {
            const want = { callId: `c${call}`, keyTime: call, tool: 'a.b', turn: 1, cost: 1 };
            const ask = { tenant: 'acme', taskId: 't-1', budget: {}, want, serial: true };
            return (desks[router] as BudgetDesk).take(ask).then(
              ({ type }) => {
                if (type === 'taken' || type === 'had') holders.add(`c${call}`);
              },
              () => {},
            );
          }),
        );
        expect(holders.size).toBeLessThanOrEqual(1);
      },
    );
    await fc.assert(run, { numRuns: 100 });
  });

  it('RT-7: a place that is to go over stays where it is until it is taken', async () => {
    const rolls = [1, 2, 3];
    let at = 0;
    const store = new ShakyStore(() => rolls[at++ % rolls.length] ?? 1);
    const desk = new BudgetDesk(store, quick);
    const take = (callId: string, more = {}) => {
      const want = { callId, keyTime: 1, tool: 'a.b', turn: 1, cost: 1 };
      return desk.take({ tenant: 'acme', taskId: 't-1', budget: { spend: 3 }, want, serial: true, ...more });
    };
    const holder = () => store.stored?.value.serial?.callId;
    await take('old');
    expect([(await take('new', { inPlaceOf: 'old' })).type, holder()]).toEqual(['taken', 'old']);
    expect([(await take('other')).type, (await take('new')).type, holder()]).toEqual(['busy', 'busy', 'old']);
    expect([(await take('new', { over: 'old' })).type, holder()]).toEqual(['taken', 'new']);
    expect([(await take('new', { inPlaceOf: 'old' })).type, (await take('old')).type]).toEqual(['had', 'busy']);
    expect(store.stored?.value.spent).toBe(2);
  });
});
