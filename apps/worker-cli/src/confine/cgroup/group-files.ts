import { close, openSync, readdirSync, readFileSync, rmdirSync, writeFileSync, write as writeToFile } from 'node:fs';
import { rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const readText = (directory: string, file: string): string => readFileSync(join(directory, file), 'utf8');

export const readNumber = (directory: string, file: string): number => Number(readText(directory, file));

export const write = (directory: string, file: string, value: string | number): void =>
  writeFileSync(join(directory, file), String(value));

/** As `write`, not on this thread. */
export const set = (directory: string, file: string, value: string | number): Promise<void> =>
  writeFile(join(directory, file), String(value));

/** Moves a process into a group; not on this thread, since the kernel may let it wait. */
export const addTo = (directory: string, pid: number): Promise<void> =>
  writeFile(join(directory, 'cgroup.procs'), String(pid));

/** A number of a file of `key value` lines; 0 where it is not there. */
export const readKey = (directory: string, file: string, key: string): number => {
  const line = readText(directory, file)
    .split('\n')
    .find((one) => one.startsWith(`${key} `));
  return line === undefined ? 0 : Number(line.slice(key.length + 1));
};

/** Of a group; undefined for one without a limit. */
export const freeProcessesOf = (directory: string): number | undefined => {
  try {
    const free = readNumber(directory, 'pids.max') - readNumber(directory, 'pids.current');
    return Number.isNaN(free) ? undefined : free;
  } catch {
    return undefined;
  }
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

const OWN_GROUPS = '/proc/self/cgroup';

/**
 * Makes the moves that follow within some milliseconds quick, where this process is in `directory`: it is moved to where
 * it is. Nothing but the write is left to the thread pool, and goes on while this thread starts a process.
 */
export const primerOf = (directory: string): (() => void) => {
  const groups = readFileSync(OWN_GROUPS, 'latin1');
  if (!membersOf(directory).includes(process.pid)) return () => {};
  return () => {
    try {
      // Somebody may have moved it elsewhere.
      if (readFileSync(OWN_GROUPS, 'latin1') !== groups) return;
      const file = openSync(join(directory, 'cgroup.procs'), 'w');
      writeToFile(file, String(process.pid), () => close(file));
    } catch {
      // Without it the first move takes longer.
    }
  };
};

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
      await rmdir(directory);
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
