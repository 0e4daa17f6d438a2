import { PACES } from '@toolfabric/kernel';
import type { Store, WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hurriedClock } from './testing/hurried-clock.ts';
import { Rig } from './testing/rig.ts';
import { answer, done, HeldTool, toolOf } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

const READ = { claim: 'none', effect: 'none' } as const;

describe('a life sign', () => {
  it('RT-3: says what the worker can do before it takes anything, and beats', async () => {
    const held = new HeldTool();
    const worker = await rig.start([held.tool], { slots: 3, isolation: ['process', 'namespace'] });
    const first = await rig.life(worker.incarnation);
    expect(first).toMatchObject({
      incarnation: worker.incarnation,
      state: 'alive',
      slots: 3,
      handlers: ['tool'],
      isolation: ['process', 'namespace'],
    });
    await waitFor(async () => ((await rig.life(worker.incarnation))?.beat ?? 0) > (first?.beat ?? 0) + 1);
  });

  it('is another one for each start', async () => {
    const workers = [await rig.start([]), await rig.start([])];
    expect(new Set(workers.map(({ incarnation }) => incarnation)).size).toBe(2);
    expect(workers[0]?.incarnation).toMatch(/^cli-[0-9a-z]{26}$/);
  });

  it('RE-3: of an incarnation that was declared dead is never lit again', async () => {
    const worker = await rig.start([]);
    await rig.declareDead(worker.incarnation);
    await expect(rig.start([], { incarnation: worker.incarnation })).rejects.toThrow('declared dead');
    expect(await worker.failed).toBe('declared dead');
    await rig.stopAll();
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'dead' });
  });
});

describe('a worker that was declared dead', () => {
  it('RE-3: stops what runs, finishes it, and runs nothing more', async () => {
    const held = new HeldTool();
    const worker = await rig.start([held.tool]);
    const running = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.declareDead(worker.incarnation);
    expect(await worker.failed).toBe('declared dead');
    expect(held.runs[0]?.ctx.signal.reason).toMatchObject({ type: 'unavailable' });
    held.runs[0]?.fail(new Error('stopped'));
    await waitFor(async () => (await rig.claim(running.callId))?.state === 'done');
    expect(await rig.claim(running.callId)).toMatchObject({ outcome: { status: 'unknown' } });

    const later = await rig.send();
    const survivor = new HeldTool();
    await rig.start([survivor.tool]);
    await waitFor(() => survivor.runs.length === 1);
    expect(survivor.runs[0]?.ctx.callId).toBe(later.callId);
    expect(held.runs).toHaveLength(1);
    survivor.runs[0]?.finish(done());
    await waitFor(async () => !(await rig.has(later.sequence)));
  });
});

describe('a drain', () => {
  /** Every step that can be seen from outside, in order; all of it goes to the real bus. */
  const watched = () => {
    const steps: string[] = [];
    const noting = <T>(store: Store<T>, note: (value: T) => string | undefined): Store<T> => ({
      get: (key) => store.get(key),
      create: (key, value) => store.create(key, value),
      update: async (key, value, revision) => {
        const stored = await store.update(key, value, revision);
        const step = note(value);
        if (step) steps.push(step);
        return stored;
      },
      remove: (key, revision) => store.remove(key, revision),
      keys: (prefix) => store.keys(prefix),
      lastRevision: () => store.lastRevision(),
    });
    const watchedPorts: WorkerPorts = {
      ...ports,
      claims: noting(ports.claims, ({ state }) => `claim ${state}`),
      lives: noting(ports.lives, ({ state }) => (state === 'alive' ? undefined : `life ${state}`)),
      results: {
        get: (...of) => ports.results.get(...of),
        createOnce: async (kind, message) => {
          const created = await ports.results.createOnce(kind, message);
          steps.push('result');
          return created;
        },
      },
      source: {
        run: (slots, on, signal) => {
          signal.addEventListener('abort', () => steps.push('no more work'));
          return ports.source.run(slots, on, signal).then(() => void steps.push('idle'));
        },
      },
    };
    return { steps, ports: watchedPorts };
  };

  it('OP-3: takes no more, lets what runs end, and only then says that it is gone', async () => {
    const watch = watched();
    const held = new HeldTool();
    const worker = await rig.start([held.tool], { ports: watch.ports });
    const running = await rig.send();
    await waitFor(() => held.runs.length === 1);
    const stopped = worker.stop();
    const waiting = await rig.send();
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'alive' });
    held.runs[0]?.finish(done());
    await stopped;
    expect(watch.steps).toEqual(['claim started', 'no more work', 'claim done', 'result', 'idle', 'life drained']);
    expect(await rig.result(running.callId)).toMatchObject({ outcome: { status: 'ok' } });
    expect(await rig.has(waiting.sequence)).toBe(true);
    expect(held.runs).toHaveLength(1);

    const next = await rig.start([toolOf(async () => answer())]);
    await waitFor(async () => !(await rig.has(waiting.sequence)), { what: 'the next worker to take what waited' });
    expect(await rig.claim(waiting.callId)).toMatchObject({ state: 'done', incarnation: next.incarnation });
  });

  it.each([
    ['before its effect ends as worker_drained', false, { status: 'error', sideEffect: 'none' }],
    ['after its effect began ends unknown', true, { status: 'unknown', sideEffect: 'possible' }],
  ])('OP-3: what takes too long is told to stop: %s', async (_name, begins, outcome) => {
    const watch = watched();
    const held = new HeldTool({ begins });
    const pace = { ...PACES.test, drainMs: 100 };
    const worker = await rig.start([held.tool], { ports: watch.ports, pace });
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    held.runs[0]?.ctx.signal.addEventListener('abort', () => held.runs[0]?.fail(held.runs[0].ctx.signal.reason));
    await worker.stop();
    expect(held.runs[0]?.ctx.signal.reason).toMatchObject({ type: 'worker_drained' });
    expect(await rig.result(callId)).toMatchObject({ outcome });
    if (!begins) expect(await rig.result(callId)).toMatchObject({ outcome: { error: { type: 'worker_drained' } } });
    await waitFor(async () => !(await rig.has(sequence)));
    expect(watch.steps.slice(-2)).toEqual(['idle', 'life drained']);
  });

  it('OP-3: ends even when a tool never does, and what it left has an end', async () => {
    const held = new HeldTool({ begins: false });
    const pace = { ...PACES.test, drainMs: 100 };
    const worker = await rig.start([held.tool], { pace, clock: hurriedClock });
    const { callId } = await rig.send(READ);
    await waitFor(() => held.runs.length === 1);
    await worker.stop();
    expect(await rig.result(callId)).toMatchObject({ outcome: { error: { type: 'worker_drained' } } });
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'drained' });
    held.runs[0]?.finish(answer());
  });

  it('of an idle worker is short, and may be asked for twice', async () => {
    const watch = watched();
    const worker = await rig.start([], { ports: watch.ports });
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop();
    expect(watch.steps.slice(0, 3)).toEqual(['no more work', 'idle', 'life drained']);
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'drained' });
  });
});

describe('places', () => {
  it('are filled and never overrun', async () => {
    const held = new HeldTool({ begins: false });
    await rig.start([held.tool], { slots: 2 });
    const sent = [await rig.send(READ), await rig.send(READ), await rig.send(READ)];
    await waitFor(() => held.runs.length === 2);
    held.runs[0]?.finish(answer());
    await waitFor(() => held.runs.length === 3);
    held.runs[1]?.finish(answer());
    held.runs[2]?.finish(answer());
    for (const { sequence } of sent) await waitFor(async () => !(await rig.has(sequence)));
    expect(new Set(held.runs.map(({ ctx }) => ctx.callId)).size).toBe(3);
  });
});

describe('executions that ignore that they were given up', () => {
  const decision = { policyVersion: 'p', rule: 'r', limits: { timeoutMs: 50, outputBytes: 4_096 } };
  /** Sends one that nobody can stop, and waits until it was given up. */
  const stray = async () => {
    const { callId } = await rig.send({ ...READ, decision });
    const { outcome } = await waitFor(() => rig.result(callId), { what: 'the end of what was given up' });
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'expired' } });
  };

  it('RE-3: leave their places to others, as long as they are not more than the places', async () => {
    const held = new HeldTool({ begins: false });
    const worker = await rig.start([held.tool], { slots: 2, clock: hurriedClock });
    await stray();
    await stray();
    held.runs[0]?.finish(answer());
    await stray();
    const next = await rig.send(READ);
    await waitFor(() => held.runs.length === 4, { what: 'the places to be free' });
    held.runs[3]?.finish(answer());
    await waitFor(() => rig.result(next.callId));
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'alive' });
    expect(await Promise.race([worker.failed, Promise.resolve('well')])).toBe('well');
    for (const run of held.runs) run.fail(new Error('at last'));
  });

  it('RE-3: end the worker when they are more than the places, and what else runs is told to stop', async () => {
    const held = new HeldTool({ begins: false });
    const worker = await rig.start([held.tool], { slots: 2, clock: hurriedClock });
    await stray();
    await stray();
    const other = await rig.send(READ);
    await waitFor(() => held.runs.length === 3);
    await rig.send({ ...READ, decision });
    expect(await worker.failed).toMatch('3 executions');
    expect(held.runs[2]?.ctx.signal.reason).toMatchObject({ type: 'unavailable' });
    for (const run of held.runs) run.fail(new Error('at last'));
    expect(await waitFor(() => rig.result(other.callId))).toMatchObject({ outcome: { status: 'error' } });
  });
});

describe('a worker without a bus', () => {
  it('RE-3: that could not renew its life for as long stops by itself, and stops what runs', async () => {
    const held = new HeldTool();
    const worker = await rig.start([held.tool]);
    await rig.send();
    await waitFor(() => held.runs.length === 1);
    await nats.kill();
    expect(await worker.failed).toBe('could not renew the life sign');
    expect(held.runs[0]?.ctx.signal.reason).toMatchObject({ type: 'unavailable' });
    held.runs[0]?.finish(done());
    await nats.restart();
  });
});
