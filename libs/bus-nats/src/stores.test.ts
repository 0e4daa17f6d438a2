import type { Claim, OpenEntry, TaskRecord } from '@toolfabric/contract';
import { RevisionConflict, StoreUnavailable } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { generateBusKeys } from './nkeys.ts';
import { TemporaryServer } from './testing/index.ts';

let server: TemporaryServer;
let router: LedgerBus;
let worker: WorkerBus;

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  router = await connectLedger(server.configFor('router'));
  worker = await connectWorker(server.configFor('worker-cli'), 'cli');
});
afterAll(async () => {
  await worker.close();
  await router.close();
  await server.stop();
});

const actor = { tenant: 'acme', user: 'ann', agent: 'bot' };
const ID = '2969-0123456789abcdefghjkmnpqrs';
const task = (title: string): TaskRecord => ({
  taskId: `t-${'0'.repeat(26)}`,
  actor,
  title,
  state: 'open',
  createdAt: 1,
});
const claim = (nonce: string): Claim => ({
  state: 'claimed',
  epoch: 1,
  sequence: 7,
  incarnation: 'cli-1',
  nonce,
  cancelRequested: false,
});
const open = (callId: string): OpenEntry => ({ callId, actor, openedAt: 1 });

describe('stores by compare-and-set', () => {
  it('creates a key once and tells the loser', async () => {
    const revision = await router.tasks.create('task.acme.a', task('first'));
    await expect(router.tasks.create('task.acme.a', task('second'))).rejects.toBeInstanceOf(RevisionConflict);
    expect(await router.tasks.get('task.acme.a')).toEqual({ value: task('first'), revision });
  });

  it('has exactly one winner among many creators of one key', async () => {
    const tries = Array.from({ length: 20 }, (_, n) => worker.claims.create(`claim.cli.1.acme.${ID}`, claim(`n${n}`)));
    const settled = await Promise.allSettled(tries);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of settled) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(RevisionConflict);
  });

  it('updates only the revision that was read', async () => {
    const first = await router.tasks.create('task.acme.b', task('1'));
    const second = await router.tasks.update('task.acme.b', task('2'), first);
    expect(second).toBeGreaterThan(first);
    await expect(router.tasks.update('task.acme.b', task('3'), first)).rejects.toBeInstanceOf(RevisionConflict);
    expect((await router.tasks.get('task.acme.b'))?.value.title).toBe('2');
  });

  it('refuses an update of a key that is not there', async () => {
    await expect(router.tasks.update('task.acme.absent', task('1'), 5)).rejects.toBeInstanceOf(RevisionConflict);
  });

  it('knows nothing of a key that was never written', async () => {
    expect(await router.tasks.get('task.acme.nothing')).toBeUndefined();
  });

  it('the router and the worker see the same claim through different accounts', async () => {
    const key = `claim.cli.3.acme.${ID}`;
    const revision = await worker.claims.create(key, claim('w'));
    expect(await router.claims('cli').get(key)).toEqual({ value: claim('w'), revision });
    await router.claims('cli').update(key, { ...claim('w'), cancelRequested: true }, revision);
    expect((await worker.claims.get(key))?.value.cancelRequested).toBe(true);
    await expect(worker.claims.update(key, claim('x'), revision)).rejects.toBeInstanceOf(RevisionConflict);
  });

  it('removes a message by its revision, leaves no marker, and lets the key be created again', async () => {
    const key = `open.3.acme.${ID}`;
    const revision = await router.open.create(key, open(ID));
    expect(await router.open.remove(key, revision)).toBe(true);
    expect(await router.open.remove(key, revision)).toBe(false);
    expect(await router.open.get(key)).toBeUndefined();
    expect(await router.open.create(key, open(ID))).toBeGreaterThan(revision);
  });

  it('removes nothing when the key was written since', async () => {
    const key = `open.4.acme.${ID}`;
    const revision = await router.open.create(key, open(ID));
    const later = await router.open.update(key, { ...open(ID), openedAt: 2 }, revision);
    expect(await router.open.remove(key, revision)).toBe(false);
    expect((await router.open.get(key))?.revision).toBe(later);
  });

  it('removes nothing when the revision belongs to another key', async () => {
    const foreign = await router.open.create(`open.5.acme.${ID}`, open(ID));
    expect(await router.open.remove(`open.6.acme.${ID}`, foreign)).toBe(false);
    expect(await router.open.get(`open.5.acme.${ID}`)).toBeDefined();
  });

  it('lists the keys below a prefix, and only those', async () => {
    const ids = Array.from({ length: 30 }, (_, n) => `2970-${String(n).padStart(26, '0')}`);
    await Promise.all(ids.map((id) => router.open.create(`open.11.acme.${id}`, open(id))));
    await router.open.create('open.1.acme.2970-z', open('2970-z'));
    expect((await router.open.keys('open.11')).sort()).toEqual(ids.map((id) => `open.11.acme.${id}`).sort());
    expect(await router.open.keys('open.1')).toEqual(['open.1.acme.2970-z']);
    expect(await router.open.keys('open.12')).toEqual([]);
  });

  it('tells every change after a revision, of several of one key only the last', async () => {
    const approval = (id: string, state: 'pending' | 'granted') => ({
      approvalId: id,
      actor,
      toolDigest: 'd',
      argsHash: 'h',
      policyVersion: 'p',
      state,
      callId: ID,
      expiresAt: 1,
    });
    const first = await router.approvals.create('approval.acme.a1', approval('a1', 'pending'));
    const second = await router.approvals.create('approval.other.a2', approval('a2', 'pending'));
    const third = await router.approvals.update('approval.acme.a1', approval('a1', 'granted'), first);
    const told = [];
    for (let revision = 0; ; ) {
      const next = await router.nextApproval(revision);
      if (next === undefined) break;
      told.push([next.key, next.revision, next.value?.state]);
      revision = next.revision;
    }
    expect(told).toEqual([
      ['approval.other.a2', second, 'pending'],
      ['approval.acme.a1', third, 'granted'],
    ]);
    expect(await router.nextApproval(third)).toBeUndefined();
  });

  it('shows every write in the last revision, also of a ring of buckets', async () => {
    const before = await router.claims('web').lastRevision();
    await router.claims('web').create(`claim.web.0.acme.${ID}`, claim('a'));
    await router.claims('web').create(`claim.web.7.acme.${ID}`, claim('b'));
    expect(await router.claims('web').lastRevision()).toBe(before + 2);
  });

  it('takes the suffix of a probe as part of its token', async () => {
    await worker.claims.create(`claim.cli.2.acme.${ID}.r3`, claim('p'));
    expect(await router.claims('cli').get(`claim.cli.2.acme.${ID}_r3`)).toBeDefined();
    expect(await router.claims('cli').keys('claim.cli.2')).toEqual([`claim.cli.2.acme.${ID}_r3`]);
  });

  it.each([
    'task.acme.>',
    'task.*.a',
    'task..a',
    'task.acme.a b',
    'task.ACME.a',
    '',
    '.task',
    'task.',
    'task.acme.ä',
    'task.acme.a\r\nPUB x 0',
    `task.${'a'.repeat(129)}`,
  ])('refuses the key %j before it becomes a subject', async (key) => {
    await expect(router.tasks.get(key)).rejects.toBeInstanceOf(RangeError);
    await expect(router.tasks.create(key, task('x'))).rejects.toBeInstanceOf(RangeError);
    await expect(router.tasks.keys(key)).rejects.toBeInstanceOf(RangeError);
  });

  it.each(['call.8.acme.x', 'call.x.acme.y', 'task.acme.x', 'claim.cli.9.a.b'])(
    'refuses the key %s in a ring that has no such slot',
    async (key) => {
      await expect(router.calls.get(key)).rejects.toBeInstanceOf(RangeError);
      await expect(worker.claims.get(key)).rejects.toBeInstanceOf(RangeError);
    },
  );

  it('a record of another shape is an error at the border that does not show its content', async () => {
    await router.tasks.create('task.acme.bad', { secret: 'hunter2' } as unknown as TaskRecord);
    const reading = router.tasks.get('task.acme.bad');
    await expect(reading).rejects.toMatchObject({ name: 'FabricError', type: 'internal' });
    await expect(reading).rejects.not.toThrow('hunter2');
  });

  it('refuses a record above the size of a message and keeps the connection', async () => {
    const large = task('x'.repeat(200_000));
    await expect(router.tasks.create('task.acme.large', large)).rejects.toMatchObject({ type: 'too_large' });
    expect(await router.tasks.get('task.acme.large')).toBeUndefined();
  });

  it('a marker that an operator left with the ordinary client counts as no value', async () => {
    await router.tasks.create('task.acme.marked', task('x'));
    const raw = await server.rawUser('router');
    await raw.request('$KV.TASKS.task.acme.marked', '', 400, { 'KV-Operation': 'DEL' });
    await raw.close();
    expect(await router.tasks.get('task.acme.marked')).toBeUndefined();
  });

  it('a kind whose streams do not exist is unavailable, not absent', async () => {
    const publicKeys = { ...server.keys.publicKeys, ...generateBusKeys(['nobody']).publicKeys };
    const other = await connectLedger({ ...server.configFor('router'), publicKeys });
    const nobody = other.claims('nobody');
    await expect(nobody.get(`claim.nobody.1.acme.${ID}`)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(nobody.create(`claim.nobody.1.acme.${ID}`, claim('x'))).rejects.toBeInstanceOf(StoreUnavailable);
    await other.close();
    expect(() => router.claims('nobody')).toThrow('worker-nobody');
  });
});
