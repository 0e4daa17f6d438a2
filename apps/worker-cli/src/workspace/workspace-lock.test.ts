import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../process/find-program.ts';
import { errorType } from '../testing/driver-fixture.ts';
import { waitUntil } from '../testing/wait-until.ts';
import { lockWorkspace } from './workspace-lock.ts';

describe('lock of a workspace', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'locks-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const flock = findProgram('flock', ['/usr/bin', '/opt/homebrew/bin']) ?? '';
  const take = (name: string, waitMs = 2_000) =>
    lockWorkspace({ directory, name, flock, waitMs, signal: new AbortController().signal });
  /** Another process: whether it gets the lock within a time. */
  const others = (name: string, seconds: number): Promise<boolean> =>
    new Promise((resolve) => {
      const child = spawn(flock, ['-x', '-w', String(seconds), join(directory, name), '/bin/true'], {
        stdio: 'ignore',
      });
      child.once('exit', (code) => resolve(code === 0));
    });

  it('keeps out everybody else, here and in other processes', async () => {
    const lock = await take('a');
    expect(await errorType(take('a', 50))).toBe('workspace_busy');
    expect(await others('a', 0.05)).toBe(false);
    await lock.release();
  });

  it('is free for the others a moment after it was let go, and is taken again here at once', async () => {
    for (let step = 0; step < 20; step += 1) await (await take('b')).release();
    expect(await others('b', 2)).toBe(true);
    const again = await take('b');
    expect(await others('b', 0.05)).toBe(false);
    await again.leave('note');
    await again.release();
    const next = await take('b');
    expect(await next.note()).toBe('note');
    await next.release();
  });

  it('who takes it again and again here does not keep it from the others', async () => {
    let got = false;
    const waiting = others('c', 10).then((taken) => (got = taken));
    await waitUntil(async () => {
      await (await take('c')).release();
      return got;
    });
    expect(await waiting).toBe(true);
  });

  it('who waits for it here gets it as soon as it is let go', async () => {
    const lock = await take('d');
    const order: string[] = [];
    const second = take('d').then(async (held) => {
      order.push('second');
      await held.release();
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    order.push('released');
    await lock.release();
    await second;
    expect(order).toEqual(['released', 'second']);
  });

  it('protocol 7 (c): is had only once the processes of the last run are gone, and never kept at hand before', async () => {
    const lock = await take('e');
    const run = lock.forRun();
    const holder = spawn(flock, ['-x', run, '/bin/sleep', '20'], { stdio: 'ignore', detached: true });
    await waitUntil(async () => !(await others('e.run', 0.01)));
    await lock.release();
    expect(await errorType(take('e', 100))).toBe('workspace_busy');
    const second = take('e', 5_000);
    process.kill(-(holder.pid ?? 0), 'SIGKILL');
    await (await second).release();
    const third = await take('e');
    expect(await others('e.run', 1)).toBe(true);
    await third.release();
  });

  it('one from which no process is left goes back to be kept at hand', async () => {
    const lock = await take('g');
    const holder = spawn(flock, ['-x', lock.forRun(), '/bin/sleep', '20'], { stdio: 'ignore', detached: true });
    await waitUntil(async () => !(await others('g.run', 0.01)));
    lock.isAloneAgain();
    await lock.release();
    await (await take('g', 100)).release();
    process.kill(-(holder.pid ?? 0), 'SIGKILL');
  });

  it('a lock file that was removed meanwhile is not the lock', async () => {
    await (await take('f')).release();
    rmSync(join(directory, 'f'));
    const lock = await take('f');
    expect(await others('f', 0.05)).toBe(false);
    await lock.release();
  });
});
