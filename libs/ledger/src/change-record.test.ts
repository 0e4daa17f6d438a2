import { RevisionConflict, StoreUnavailable } from '@toolfabric/ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ChangeOptions, changeRecord, createRecord } from './change-record.ts';
import { ScriptedStore, SleepClock } from './testing/scripted-store.ts';

interface Counter {
  readonly by: string;
  readonly count: number;
}

let store: ScriptedStore<Counter>;
let clock: SleepClock;
beforeEach(() => {
  store = new ScriptedStore<Counter>({ by: 'first', count: 1 });
  clock = new SleepClock();
});

const grow = (current: Counter | undefined): Counter => ({ by: 'me', count: (current?.count ?? 0) + 1 });
const upTo = (most: number) => (current: Counter | undefined) =>
  (current?.count ?? 0) >= most ? undefined : grow(current);
const change = (
  transition: (current: Counter | undefined) => Counter | undefined = grow,
  options: Partial<ChangeOptions<Counter>> = {},
) => changeRecord(store, 'key', transition, { clock, ...options });

describe('a change', () => {
  it('reads, decides and stores with the revision that was read', async () => {
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 2 }, revision: 2 });
    expect(store.asked).toEqual(['get', 'update']);
  });

  it('creates where there is nothing', async () => {
    store = new ScriptedStore<Counter>();
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 1 }, revision: 1 });
    expect(store.asked).toEqual(['get', 'create']);
  });

  it('that does not apply writes nothing and says what stands there', async () => {
    const current = { value: { by: 'first', count: 1 }, revision: 1 };
    expect(await change(() => undefined)).toEqual({ done: false, current });
    store = new ScriptedStore<Counter>();
    expect(await change(() => undefined)).toEqual({ done: false, current: undefined });
    expect(store.asked).toEqual(['get']);
  });

  it('RE-3: that lost a race decides again on what won it', async () => {
    store.writes.push({ beaten: { by: 'other', count: 10 } });
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 11 }, revision: 3 });
    expect(clock.slept).toEqual([]);
  });

  it('RE-3: that lost a race and does not apply any more writes nothing', async () => {
    store.writes.push({ beaten: { by: 'other', count: 10 } });
    expect(await change(upTo(10))).toEqual({
      done: false,
      current: { value: { by: 'other', count: 10 }, revision: 2 },
    });
    expect(store.stored?.value.by).toBe('other');
  });

  it('gives up after sixteen lost races, as an outage', async () => {
    store.writes.push(...Array.from({ length: 16 }, (_, n) => ({ beaten: { by: 'other', count: n } })));
    await expect(change()).rejects.toThrow(StoreUnavailable);
    expect(store.stored).toEqual({ value: { by: 'other', count: 15 }, revision: 17 });
  });

  it('wins the sixteenth race', async () => {
    store.writes.push(...Array.from({ length: 15 }, (_, n) => ({ beaten: { by: 'other', count: n } })));
    expect(await change()).toMatchObject({ done: true, value: { by: 'me', count: 15 } });
  });
});

describe('a write whose answer was lost', () => {
  it('RE-3: and that was applied is found by reading, and not done twice', async () => {
    store.writes.push('applied, unanswered');
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 2 }, revision: 2 });
    expect(store.asked).toEqual(['get', 'update', 'get']);
  });

  it('RE-3: and that was not applied is done again', async () => {
    store.writes.push('unavailable');
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 2 }, revision: 2 });
    expect(store.asked).toEqual(['get', 'update', 'get', 'update']);
  });

  it('of a create is settled in the same way', async () => {
    store = new ScriptedStore<Counter>();
    store.writes.push('applied, unanswered');
    expect(await change()).toEqual({ done: true, value: { by: 'me', count: 1 }, revision: 1 });
  });

  it('and that was overtaken since is decided anew', async () => {
    store.writes.push({ overtaken: { by: 'other', count: 5 } });
    expect(await change(upTo(5))).toEqual({ done: false, current: { value: { by: 'other', count: 5 }, revision: 3 } });
  });

  it('is told from a foreign one by its content alone', async () => {
    store.writes.push('unavailable');
    clock.onSleep = () => store.put({ by: 'other', count: 2 });
    expect(await change()).toMatchObject({ done: true, value: { by: 'me', count: 3 } });
  });

  it('is recognised whatever the order of its fields', async () => {
    store.writes.push('unavailable');
    clock.onSleep = () => store.put({ count: 2, by: 'me' });
    expect(await change()).toMatchObject({ done: true, revision: 2 });
    expect(store.asked).toEqual(['get', 'update', 'get']);
  });
});

describe('patience', () => {
  it('goes on with growing pauses, at most half a second, until the time is up', async () => {
    store.reads.push(...Array<'unavailable'>(50).fill('unavailable'));
    await expect(change(grow, { patienceMs: 2_000 })).rejects.toThrow(StoreUnavailable);
    expect(clock.slept).toEqual([20, 40, 80, 160, 320, 500, 500, 500]);
  });

  it('is four seconds when nothing is said', async () => {
    store.reads.push(...Array<'unavailable'>(50).fill('unavailable'));
    await expect(change()).rejects.toThrow(StoreUnavailable);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(4_000);
    expect(clock.monotonic()).toBeLessThan(4_600);
  });

  it('without an end waits until the store is back', async () => {
    store.reads.push(...Array<'unavailable'>(500).fill('unavailable'));
    expect(await change(grow, { patienceMs: Number.POSITIVE_INFINITY })).toMatchObject({ done: true });
    expect(clock.slept).toHaveLength(500);
  });

  it('OP-3: ends with its signal, after a last try', async () => {
    const stop = new AbortController();
    store.reads.push(...Array<'unavailable'>(500).fill('unavailable'));
    clock.onSleep = () => clock.slept.length === 3 && stop.abort();
    const options = { patienceMs: Number.POSITIVE_INFINITY, signal: stop.signal };
    await expect(change(grow, options)).rejects.toThrow(StoreUnavailable);
    expect(store.asked).toHaveLength(4);
  });

  it('that has an aborted signal still tries once: an answer is an answer', async () => {
    expect(await change(grow, { signal: AbortSignal.abort() })).toMatchObject({ done: true });
  });

  it('is none with any other error, of the store or of the transition', async () => {
    store.writes.push({ fails: new RangeError('not a key') });
    await expect(change()).rejects.toThrow(RangeError);
    const broken = () => {
      throw new TypeError('broken');
    };
    await expect(change(broken)).rejects.toThrow(TypeError);
    expect(clock.slept).toEqual([]);
  });
});

describe('a belief', () => {
  it('saves the first read', async () => {
    const believed = { value: { by: 'first', count: 1 }, revision: 1 };
    expect(await change(grow, { believed })).toMatchObject({ done: true, revision: 2 });
    expect(store.asked).toEqual(['update']);
  });

  it.each([
    ['an older revision', { value: { by: 'first', count: 0 }, revision: 7 }],
    ['absence', 'absent' as const],
  ])('that is wrong costs one more round: %s', async (_name, believed) => {
    expect(await change(grow, { believed })).toMatchObject({ done: true, value: { count: 2 } });
    expect(store.asked.slice(1)).toEqual(['get', 'update']);
  });

  it('that is wrong is not what `current` says', async () => {
    const believed = { value: { by: 'first', count: 0 }, revision: 7 };
    const after = await change(upTo(1), { believed });
    expect(after).toEqual({ done: false, current: { value: { by: 'first', count: 1 }, revision: 1 } });
  });
});

describe('create-or-verify', () => {
  const mine = { by: 'me', count: 1 };
  const create = () => createRecord(store, 'key', mine, { clock });

  it('stores where there is nothing, without reading first', async () => {
    store = new ScriptedStore<Counter>();
    expect(await create()).toEqual({ done: true, value: mine, revision: 1 });
    expect(store.asked).toEqual(['create']);
  });

  it('gives what is there, and leaves it', async () => {
    expect(await create()).toEqual({ done: false, current: { value: { by: 'first', count: 1 }, revision: 1 } });
  });

  it('RE-3: is done when its lost answer, or another try of the same, stored the same', async () => {
    store = new ScriptedStore<Counter>();
    store.writes.push('applied, unanswered');
    expect(await create()).toEqual({ done: true, value: mine, revision: 1 });
    expect(await create()).toEqual({ done: true, value: mine, revision: 1 });
  });

  it('RE-3: is tried again when it did not arrive, and loses to who came between', async () => {
    store = new ScriptedStore<Counter>();
    store.writes.push('unavailable');
    clock.onSleep = () => store.put({ by: 'other', count: 9 });
    expect(await create()).toMatchObject({ done: false, current: { value: { by: 'other' } } });
  });

  it('says a conflict to nobody: it is part of its answer', async () => {
    store.writes.push({ fails: new RevisionConflict('taken') });
    await expect(create()).resolves.toMatchObject({ done: false });
  });
});
