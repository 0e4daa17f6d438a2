import { noMetrics, silentLogger, systemClock } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { type EventRows, RowsRejected } from '@toolfabric/trace-clickhouse';
import { describe, expect, it } from 'vitest';
import { type BatchLimits, BatchWriter } from './batch-writer.ts';

const LIMITS: BatchLimits = { events: 10, bytes: 1_000, lingerMs: 20, heldBytes: 5_000 };

const rows = (name: string, bytes = 10): EventRows => ({
  lines: { payloads: [], spans: [], tasks: [], events: [name], calls: [] },
  moments: [],
  bytes,
});
const nameOf = (row: EventRows): string => row.lines.events[0] ?? '';

/** A store under the hand of the test: what it holds, and what it says to the next inserts. */
class ScriptedStore {
  readonly held: string[] = [];
  readonly batches: number[] = [];
  answer: (names: readonly string[]) => Error | undefined = () => undefined;
  atOnce = 0;
  mostAtOnce = 0;

  async insert(batch: readonly EventRows[]): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    await new Promise(setImmediate);
    this.atOnce -= 1;
    const names = batch.map(nameOf);
    const error = this.answer(names);
    if (error !== undefined) throw error;
    this.batches.push(batch.length);
    this.held.push(...names);
  }
}

const open = (limits = LIMITS) => {
  const store = new ScriptedStore();
  const writer = new BatchWriter({ store, clock: systemClock, log: silentLogger, metrics: noMetrics }, limits);
  return { store, writer };
};

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `e${n}`);

describe('batches', () => {
  it('hold no more events and bytes than was said, one insert at a time, and lose none', async () => {
    const { store, writer } = open();
    await Promise.all(names(95).map((name) => writer.add(rows(name))));
    expect(store.held.toSorted()).toEqual(names(95).toSorted());
    expect(Math.max(...store.batches)).toBeLessThanOrEqual(10);
    expect(store.mostAtOnce).toBe(1);
    await Promise.all([writer.add(rows('big', 900)), writer.add(rows('large', 900))]);
    expect(store.batches.slice(-2)).toEqual([1, 1]);
    await writer.drain(1_000);
  });

  it('that are not full go after a while', async () => {
    const { store, writer } = open();
    await writer.add(rows('lonely'));
    expect(store.held).toEqual(['lonely']);
    await writer.drain(1_000);
  });

  it('one that is larger than a batch goes alone', async () => {
    const { store, writer } = open();
    await writer.add(rows('huge', 50_000));
    expect(store.held).toEqual(['huge']);
    await writer.drain(1_000);
  });
});

describe('a store that does not take them', () => {
  it('is tried again until it does; meanwhile there is no room, and nobody is told that it is stored', async () => {
    const { store, writer } = open();
    let refusals = 0;
    store.answer = () => (++refusals <= 2 ? new StoreUnavailable('away') : undefined);
    let ended = false;
    const adding = writer.add(rows('patient')).then(() => {
      ended = true;
    });
    while (refusals === 0) await new Promise(setImmediate);
    expect(writer.hasRoom()).toBe(false);
    expect(ended).toBe(false);
    await adding;
    expect(writer.hasRoom()).toBe(true);
    expect(writer.counts).toMatchObject({ stored: 1, retries: 2, heldEvents: 0, heldBytes: 0 });
    await writer.drain(1_000);
  });

  it('for good, because of some rows: the others are stored, and the bad ones hold nothing up', async () => {
    const { store, writer } = open();
    store.answer = (batch) => (batch.some((name) => name.startsWith('bad')) ? new RowsRejected('wrong') : undefined);
    const all = [...names(7), 'bad-1', 'good', 'bad-2'];
    await Promise.all(all.map((name) => writer.add(rows(name))));
    expect(store.held.toSorted()).toEqual([...names(7), 'good'].toSorted());
    expect(writer.counts).toMatchObject({ stored: 8, rejected: 2, heldEvents: 0 });
    await writer.drain(1_000);
  });

  it('is given up when the writer must stop: what was not stored ends with an error', async () => {
    const { store, writer } = open();
    store.answer = () => new StoreUnavailable('away');
    const adding = Promise.allSettled(names(25).map((name) => writer.add(rows(name))));
    await writer.drain(50);
    expect((await adding).every(({ status }) => status === 'rejected')).toBe(true);
    await expect(writer.add(rows('late'))).rejects.toThrow('stopped');
    expect(writer.counts).toMatchObject({ stored: 0, heldEvents: 0, heldBytes: 0 });
  });
});

describe('the end', () => {
  it('stores at once what is held, and takes in no more', async () => {
    const { store, writer } = open({ ...LIMITS, lingerMs: 60_000 });
    const adding = names(3).map((name) => writer.add(rows(name)));
    await writer.drain(5_000);
    await Promise.all(adding);
    expect(store.held).toEqual(names(3));
    expect(writer.hasRoom()).toBe(false);
    await writer.drain(5_000);
  });
});
