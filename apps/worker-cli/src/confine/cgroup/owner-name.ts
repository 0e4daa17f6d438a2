import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from './group-files.ts';

const PREFIX = 'toolfabric-';

/** Ticks since the start of the machine at which a process began; tells it from a later one with the same number. */
const startOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
};

let workers = 0;

/** The directory of one worker: its process, when that began, and which worker of the process it is. */
export const ownerName = (): string => {
  workers += 1;
  return `${PREFIX}${process.pid}-${startOf(process.pid) ?? '0'}-${workers}`;
};

const isDead = (name: string): boolean => {
  const [pid = '', start] = name.slice(PREFIX.length).split('-');
  return startOf(Number(pid)) !== start;
};

/** Removes what dead workers left below `parent`. */
export const sweepDead = (parent: string): void => {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX) && isDead(name)) removeTree(join(parent, name));
  }
};
