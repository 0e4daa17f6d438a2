import { readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const readText = (directory: string, file: string): string => readFileSync(join(directory, file), 'utf8');

export const readNumber = (directory: string, file: string): number => Number(readText(directory, file));

export const write = (directory: string, file: string, value: string | number): void =>
  writeFileSync(join(directory, file), String(value));

/** Moves a process into a group; not on this thread, since the kernel may let it wait. */
export const addTo = (directory: string, pid: number): Promise<void> =>
  writeFile(join(directory, 'cgroup.procs'), String(pid));

/** Above every number that the kernel gives to a process. */
const NO_PROCESS = 4_194_304;

/** The kernel waits before it looks for the process, and then there is none. */
export const primeMoves = (directory: string): void => {
  addTo(directory, NO_PROCESS).catch(() => {});
};

/** A number of a file of `key value` lines; 0 where it is not there. */
export const readKey = (directory: string, file: string, key: string): number => {
  const line = readText(directory, file)
    .split('\n')
    .find((one) => one.startsWith(`${key} `));
  return line === undefined ? 0 : Number(line.slice(key.length + 1));
};

const hasEnded = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The state stands after the name, which may hold anything, parentheses too.
    return 'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3));
  } catch {
    return true;
  }
};

/** Processes that still can do something: one that has ended and was not yet waited for cannot. */
export const membersOf = (directory: string): number[] =>
  readText(directory, 'cgroup.procs')
    .split('\n')
    .filter((line) => line !== '' && line !== '0')
    .map(Number)
    .filter((pid) => !hasEnded(pid));

export const killAll = (pids: readonly number[]): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
};

const REMOVE_TRIES = 60;

/** A group can be removed once the kernel has let go of its last process, which takes a moment. */
export const removeGroup = async (directory: string): Promise<boolean> => {
  for (let step = 0; step < REMOVE_TRIES; step += 1) {
    try {
      rmdirSync(directory);
      return true;
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT') return true;
      if (code !== 'EBUSY' && code !== 'ENOTEMPTY') return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(100, 2 * (step + 1))));
    }
  }
  return false;
};

/** Removes the empty groups below, and the directory itself when nothing is left in it. */
export const removeTree = (directory: string): void => {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) removeTree(join(directory, entry.name));
    }
    rmdirSync(directory);
  } catch {
    // Somebody is still in it, or it is gone.
  }
};
