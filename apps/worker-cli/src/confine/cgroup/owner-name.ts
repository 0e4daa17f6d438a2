import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from './group-files.ts';

const PREFIX = 'toolfabric-';

/**
 * Ticks since the start of the machine at which a process began; tells it from a later one with the same number.
 * Undefined when there is no such process; throws when that cannot be seen.
 */
const startOf = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw thrown;
  }
};

/** The number of the name space in which this process has its number. */
const ownNamespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';

let workers = 0;

/**
 * The directory of one worker: its process, when that began, which worker of the process it is, and the name space in
 * which the process has this number.
 */
export const ownerName = (): string => {
  workers += 1;
  return `${PREFIX}${process.pid}-${startOf(process.pid) ?? '0'}-${workers}-${ownNamespace()}`;
};

/** Of a process of another name space, as in another container, nobody here can tell. */
const isDead = (name: string): boolean => {
  const [pid = '', start, , namespace] = name.slice(PREFIX.length).split('-');
  if (namespace !== ownNamespace()) return false;
  try {
    return startOf(Number(pid)) !== start;
  } catch {
    return false;
  }
};

/** Removes what dead workers of this name space left below `parent`. */
export const sweepDead = (parent: string): void => {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX) && isDead(name)) removeTree(join(parent, name));
  }
};
