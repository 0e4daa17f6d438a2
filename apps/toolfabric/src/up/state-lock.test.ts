import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findProgram } from '../programs/find-program.ts';
import { takeStateLock } from './state-lock.ts';

const flock = findProgram('flock', process.env['PATH'] ?? '');
const MODULE = JSON.stringify(new URL('./state-lock.ts', import.meta.url).href);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Another process that takes the lock and keeps it until it is killed. */
const holder = async (file: string, how: string | undefined) => {
  const code = `import { takeStateLock } from ${MODULE};
    await takeStateLock(${JSON.stringify(file)}, ${JSON.stringify(how)}); console.log('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
};

describe.each([
  ['the kernel', flock],
  ['a file', undefined],
])('a state lock held by %s', (_by, how) => {
  it('is refused to a second process, and free after the first was killed', async () => {
    const file = join(folder, 'up.lock');
    const first = await holder(file, how);
    await expect(takeStateLock(file, how)).rejects.toThrow('another `toolfabric up` uses this state folder');
    first.kill('SIGKILL');
    await once(first, 'close');
    await (await takeStateLock(file, how)).release();
  });

  it('stands in a file that nobody else can open', async () => {
    const file = join(folder, 'up.lock');
    if (how !== undefined) writeFileSync(file, '', { mode: 0o644 });
    const lock = await takeStateLock(file, how);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await lock.release();
  });

  it('can be taken again after it was released', async () => {
    const file = join(folder, 'up.lock');
    await (await takeStateLock(file, how)).release();
    await (await takeStateLock(file, how)).release();
  });
});
