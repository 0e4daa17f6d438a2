import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { FabricError, systemClock } from '@toolfabric/kernel';
import { identify, isAlive, ProcessIdentity } from '../programs/process-identity.ts';

export interface StateLock {
  release(): Promise<void>;
}

/** A holder that was killed a moment ago needs that long to let go. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 100;
const TAKEN = 75;

/**
 * Makes this process the only one that uses a state folder. With `flock` the kernel holds the lock, and lets go however
 * the process ends; without it a file with the identity of the holder does. Throws `conflict` when it is taken.
 */
export const takeStateLock = async (file: string, flock: string | undefined): Promise<StateLock> => {
  const until = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const lock = flock === undefined ? lockByFile(file) : await lockByKernel(file, flock);
    if (lock) return lock;
    if (systemClock.monotonic() > until) {
      throw new FabricError('conflict', `another \`toolfabric up\` uses this state folder (${file} is locked)`, {
        hint: 'Stop that one, or give this one a folder of its own with --state.',
      });
    }
    await systemClock.sleep(RETRY_MS);
  }
};

/** Whoever can open the file can hold its lock. */
const makeLockFile = (file: string): void => {
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
};

/** A `cat` holds the lock for as long as this process keeps the other end of its pipe. */
const lockByKernel = async (file: string, flock: string): Promise<StateLock | undefined> => {
  makeLockFile(file);
  const args = ['--nonblock', '--no-fork', '--conflict-exit-code', String(TAKEN), file, 'cat'];
  const holder = spawn(flock, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
  });
  holder.stdin.on('error', () => {});
  const ended = once(holder, 'close') as Promise<[number | null]>;
  holder.stdin.write('held\n');
  const held = await Promise.race([once(holder.stdout, 'data').then(() => 'held' as const), ended]);
  if (held === 'held') return { release: () => letGo(holder, ended) };
  if (held[0] === TAKEN) return undefined;
  throw new FabricError('internal', `cannot lock ${file}: flock ended with ${held[0]}`);
};

const letGo = async (holder: ChildProcess, ended: Promise<unknown>): Promise<void> => {
  holder.stdin?.end();
  await ended;
};

const lockByFile = (file: string): StateLock | undefined => {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    const holder = ProcessIdentity.safeParse(parseOrNothing(readFileSync(file, 'utf8')));
    if (!holder.success || isAlive(holder.data)) return undefined;
    rmSync(file, { force: true });
    return undefined;
  }
  writeFileSync(file, JSON.stringify(identify(process.pid)));
  return { release: async () => rmSync(file, { force: true }) };
};

const parseOrNothing = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
