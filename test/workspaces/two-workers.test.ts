import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { TRUSTED, Workshop } from './support.ts';

vi.setConfig({ testTimeout: 90_000 });

let shop: Workshop;
beforeAll(async () => {
  shop = await Workshop.open();
});
afterEach(() => shop.cluster.killAll('cli'));
afterAll(() => shop.stop());

const SUM = 'export const sum = (a, b) => a - b;\n';
const TEST =
  "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { sum } from './sum.mjs';\ntest('sums', () => assert.equal(sum(1, 2), 3));\n";

describe('RT-10: a workspace on workers with storage of their own', () => {
  it('edit on one, test on the other sees the edit; the loss of a worker keeps it', async () => {
    const first = await shop.worker('a1');
    const path = shop.repository('sum', { 'sum.mjs': SUM, 'sum.test.mjs': TEST });
    const taskId = await shop.task({ type: 'clone', path }, { argv: ['node', '--test', 'sum.test.mjs'] });
    const failed = await shop.call(taskId, 'test.run', {});
    const edit = await shop.change(taskId, 'sum.mjs', SUM, SUM.replace('a - b', 'a + b'));
    expect(edit).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
    const home = await shop.homeOf(taskId);
    await shop.worker('b1');
    await shop.kill(first);
    expect(await shop.read(taskId, 'sum.mjs')).toContain('a + b');
    const passed = await shop.call(taskId, 'test.run', {});
    const verdicts = [failed, passed].map(({ result }) => (result?.data as { verdict?: string } | undefined)?.verdict);
    expect([failed.state, passed.state, ...verdicts]).toEqual(['ok', 'ok', 'failed', 'passed']);
    expect((await shop.movedFrom(taskId, home.incarnation)).kind).toBe('cli');
  });

  it('calls go to the home of the workspace while it lives, and follow it when it is drained', async () => {
    const first = await shop.worker('a2');
    const taskId = await shop.task({ type: 'empty' });
    await shop.make(taskId, 'seed', 's\n');
    const home = await shop.homeOf(taskId);
    await Promise.all([shop.worker('b2'), shop.worker('c2')]);
    const calls = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        shop.call(taskId, 'workspace.read_file', { path: n % 2 ? 'seed' : './seed' }),
      ),
    );
    const ran = new Set(await Promise.all(calls.map((call) => shop.ranBy(call))));
    expect([...ran]).toEqual([home.incarnation]);
    const { pin } = (await shop.cluster.call(calls[0]?.callId ?? '')) ?? {};
    expect(pin).toBe(home.slot);
    await shop.drain(first);
    expect(await shop.make(taskId, 'after', 'a\n')).toMatchObject({ state: 'ok' });
    expect((await shop.movedFrom(taskId, home.incarnation)).incarnation).not.toBe(home.incarnation);
    expect(await shop.read(taskId, 'seed')).toBe('s\n');
  });

  it('a call that waits for a home that died is taken back, runs elsewhere, and runs once', async () => {
    const first = await shop.worker('a3');
    const taskId = await shop.task({ type: 'empty' });
    await shop.make(taskId, 'seed', 's\n');
    const home = await shop.homeOf(taskId);
    await shop.worker('b3');
    // Paused: it looks alive for a while, and what is sent to it waits.
    first.kill('SIGSTOP');
    const calls = [shop.make(taskId, 'new', 'n\n'), shop.call(taskId, 'workspace.read_file', { path: 'seed' })];
    const [edit, read] = await Promise.all(calls);
    expect([edit?.state, read?.state]).toEqual(['ok', 'ok']);
    for (const call of [edit, read]) {
      const record = await shop.cluster.call(call?.callId ?? '');
      expect(record?.pin).toBeUndefined();
      expect(await shop.ranBy(call as never)).not.toBe(home.incarnation);
    }
    first.kill('SIGCONT');
    await first.exited;
    expect(await shop.read(taskId, 'new')).toBe('n\n');
    expect(await shop.make(taskId, 'new', 'n\n')).toMatchObject({ result: { error: { type: 'stale_version' } } });
  });

  it('two pools share it: what one edits the other reads, and edits of both at once lose none', async () => {
    await Promise.all([shop.worker('a4'), shop.worker('t4', '', TRUSTED)]);
    const taskId = await shop.task({ type: 'empty' });
    await shop.make(taskId, 'from-cli', 'c\n');
    expect(await shop.read(taskId, 'from-cli', 'trusted.read_file')).toBe('c\n');
    await shop.make(taskId, 'from-trusted', 't\n', 'trusted.edit_file');
    expect(await shop.read(taskId, 'from-trusted')).toBe('t\n');
    const kept: string[] = [];
    const endings = new Set<string>();
    const tools = ['workspace.edit_file', 'trusted.edit_file'];
    const edits = tools.map(async (tool, pool) => {
      for (let n = 0; n < 6; n += 1) {
        const path = `f-${pool}-${n}`;
        const { state, result } = await shop.make(taskId, path, `${path}\n`, tool);
        endings.add(state === 'ok' ? 'ok' : (result?.error?.type ?? state));
        if (state === 'ok') kept.push(path);
        else n -= 1;
      }
    });
    await Promise.all(edits);
    expect([...endings].filter((end) => end !== 'ok' && end !== 'workspace_moved')).toEqual([]);
    for (const path of kept) expect(await shop.read(taskId, path)).toBe(`${path}\n`);
    for (const path of kept) expect(await shop.read(taskId, path, 'trusted.read_file')).toBe(`${path}\n`);
  });

  it('a worker without a slot works all the same, and its workspaces have no home', async () => {
    const service = shop.cluster.spawnApart('a5', '', 'cli', { TOOLFABRIC_PIN_SLOTS: '0' });
    await service.ready;
    const taskId = await shop.task({ type: 'empty' });
    const edit = await shop.make(taskId, 'a', 'a\n');
    expect(edit.state).toBe('ok');
    expect((await shop.taskRecord(taskId)).home).toBeUndefined();
    expect((await shop.cluster.call(edit.callId))?.pin).toBeUndefined();
  });
});
