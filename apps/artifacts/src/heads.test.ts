import { waitFor } from '@toolfabric/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type CallPermit,
  callPermit,
  idOf,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';
import { ManualClock } from './testing/manual-clock.ts';

let under: UnderTest;
afterEach(() => under?.stop());

const W = 'ws/../Ünïque name';
const permit = callPermit({ workspace: W });
const path = (workspace: string) => `/v1/heads/${encodeURIComponent(workspace)}`;
const head = async (by: CallPermit = permit) => (await under.ask(path(W), { permit: sign(by) })).json();
const move = (body: unknown, by: CallPermit = permit, workspace = W) =>
  under.ask(path(workspace), { method: 'POST', permit: sign(by), body: JSON.stringify(body) });
const snapshot = async (name: string, by = permit): Promise<string> => {
  await under.put(by, name, name);
  return idOf(by, name);
};

describe('heads of workspaces', () => {
  it('RT-10: begin at 0, move by compare-and-set, and outlive a restart', async () => {
    under = await startUnderTest();
    expect(await head()).toEqual({ workspace: W, tenant: 'acme', generation: 0 });
    const [one, two] = [await snapshot('snapshot-1'), await snapshot('snapshot-2')];
    expect((await move({ expected: 0, manifest: one })).json()).toMatchObject({ generation: 1, manifest: one });
    expect((await move({ expected: 1, manifest: two })).json()).toMatchObject({ generation: 2, manifest: two });
    under = await under.restart();
    expect(await head()).toEqual({ workspace: W, tenant: 'acme', generation: 2, manifest: two });
  });

  it('RT-10: of many at one time one wins', async () => {
    under = await startUnderTest();
    const calls = Array.from({ length: 8 }, (_, n) => callPermit({ workspace: W, callId: `2969-c${n}` }));
    const ids = await Promise.all(calls.map((call) => snapshot('snapshot-x', call)));
    const moved = await Promise.all(calls.map((call, n) => move({ expected: 0, manifest: ids[n] }, call)));
    expect(moved.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(moved.filter(({ error }) => error === 'conflict')).toHaveLength(7);
  });

  it('the same move again by the same epoch finds itself, by another one it is a conflict', async () => {
    under = await startUnderTest();
    const one = await snapshot('snapshot-1');
    await move({ expected: 0, manifest: one });
    expect((await move({ expected: 0, manifest: one })).json()).toMatchObject({ generation: 1 });
    expect((await move({ expected: 0, manifest: one }, { ...permit, epoch: 2 })).error).toBe('conflict');
    expect((await move({ expected: 0 })).error).toBe('conflict');
  });

  it('without a manifest only the generation is raised', async () => {
    under = await startUnderTest();
    expect((await move({ expected: 0 })).json()).toEqual({ workspace: W, tenant: 'acme', generation: 1 });
    const one = await snapshot('snapshot-1');
    await move({ expected: 1, manifest: one });
    expect((await move({ expected: 2 })).json()).toMatchObject({ generation: 3, manifest: one });
  });

  it('lets go of snapshots that the newest one does not need, after the grace, and of no others', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 20 });
    const long = { ...permit, retentionDays: 90, expires: Date.now() + 10 * 86_400_000 };
    const ids = await Promise.all(['1', '2', '3'].map((n) => snapshot(`snapshot-${n}`, long)));
    const [one = '', two = '', three = ''] = ids;
    const elsewhere = await snapshot('snapshot-x', { ...long, workspace: 'other' });
    const there = async (id: string) => (await under.ask(`/v1/artifacts/${id}`, { permit: sign(long) })).status === 200;
    await move({ expected: 0, manifest: one }, long);
    await move({ expected: 1, manifest: three, keeps: [two] }, long);
    await move({ expected: 2 }, long);
    clock.advance(5 * 3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await there(one)).toBe(true);
    clock.advance(6 * 3_600_000 + 1);
    await waitFor(async () => !(await there(one)));
    expect(await Promise.all([two, three].map(there))).toEqual([true, true]);
    const other = sign({ ...long, workspace: 'other' });
    expect((await under.ask(`/v1/artifacts/${elsewhere}`, { permit: other })).status).toBe(200);
    // Without a word of what it needs everything stays from then on.
    await move({ expected: 3, manifest: three }, long);
    clock.advance(20 * 3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await there(two)).toBe(true);
  });

  it('never names what is not a snapshot of this workspace', async () => {
    under = await startUnderTest();
    await under.put(permit, 'plain', 'x');
    const elsewhere = await snapshot('snapshot-9', callPermit({ workspace: 'other' }));
    for (const manifest of [idOf(permit, 'plain'), idOf(permit, 'snapshot-absent'), elsewhere]) {
      expect((await move({ expected: 0, manifest })).error).toBe('not_found');
    }
    expect(await head()).toMatchObject({ generation: 0 });
  });

  it('RS-4: is only for a permit of that workspace, and a tenant has its own', async () => {
    under = await startUnderTest();
    await move({ expected: 0 });
    for (const by of [callPermit(), callPermit({ workspace: 'other' })]) {
      expect([(await under.ask(path(W), { permit: sign(by) })).error, (await move({ expected: 1 }, by)).error]).toEqual(
        ['forbidden', 'forbidden'],
      );
    }
    expect(await head({ ...permit, actor: { ...permit.actor, tenant: 'rival' } })).toMatchObject({ generation: 0 });
  });

  it.each([
    [{}],
    [{ expected: -1 }],
    [{ expected: 1.5 }],
    [{ expected: 0, manifest: '../x' }],
    [{ expected: 0, more: 1 }],
    [{ expected: 0, keeps: ['../x'] }],
    ['{'],
  ])('refuses the move %j', async (body) => {
    under = await startUnderTest();
    expect((await move(body)).error).toBe('invalid_request');
  });

  it('refuses a path that is not well encoded', async () => {
    under = await startUnderTest();
    expect((await under.ask('/v1/heads/%zz', { permit: sign(permit) })).error).toBe('invalid_request');
  });
});
