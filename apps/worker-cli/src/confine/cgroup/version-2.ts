import { existsSync, mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallGroup, CallGroups, GroupLimits } from './call-group.ts';
import {
  addTo,
  freeProcessesOf,
  killAll,
  membersOf,
  primerOf,
  readKey,
  readNumber,
  readText,
  removeGroup,
  removeTree,
  set,
  write,
} from './group-files.ts';
import { ownerName, sweepDead } from './owner-name.ts';

const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
const MICROSECONDS = 1_000;

const controllersOf = (directory: string, file: string): string[] => readText(directory, file).trim().split(/\s+/);

/** Throws with the controllers that are missing, or when the kernel refuses to hand them down. */
const handDown = (directory: string): void => {
  const missing = CONTROLLERS.filter((name) => !controllersOf(directory, 'cgroup.controllers').includes(name));
  if (missing.length > 0) throw new Error(`the controllers ${missing.join(', ')} are not available in ${directory}`);
  const active = controllersOf(directory, 'cgroup.subtree_control');
  const wanted = CONTROLLERS.filter((name) => !active.includes(name));
  if (wanted.length > 0) write(directory, 'cgroup.subtree_control', wanted.map((name) => `+${name}`).join(' '));
};

const setLimits = async (at: string, limits: GroupLimits): Promise<void> => {
  await set(at, 'memory.max', limits.memoryBytes);
  if (existsSync(join(at, 'memory.swap.max'))) await set(at, 'memory.swap.max', 0);
  await set(at, 'pids.max', limits.processes);
};

const groupAt = (at: string): CallGroup => ({
  add: (pid) => addTo(at, pid),
  members: () => membersOf(at),
  hits: () => ({
    memory: readKey(at, 'memory.events', 'oom_kill'),
    processes: readKey(at, 'pids.events', 'max'),
  }),
  cpuMs: () => readKey(at, 'cpu.stat', 'usage_usec') / MICROSECONDS,
  maxMemoryBytes: () => (existsSync(join(at, 'memory.peak')) ? readNumber(at, 'memory.peak') : undefined),
  kill() {
    if (existsSync(join(at, 'cgroup.kill'))) return write(at, 'cgroup.kill', 1);
    write(at, 'pids.max', 0);
    killAll(membersOf(at));
  },
  async remove() {
    await removeGroup(at);
  },
});

/**
 * Groups of cgroup version 2, below one delegated directory that holds no process of its own. Throws where none can be
 * made. Written after the kernel's documentation; no machine with these controllers has run it yet.
 */
export const groupsOfVersion2 = (delegated: string, home: string | undefined): CallGroups => {
  handDown(delegated);
  const own = join(delegated, ownerName());
  const makeOwn = () => {
    mkdirSync(own);
    handDown(own);
  };
  makeOwn();
  const prime = home === undefined ? () => {} : primerOf(home);
  return {
    version: 2,
    async create(name, limits) {
      // Somebody may have tidied it away while it was empty.
      if (!existsSync(own)) makeOwn();
      const at = join(own, name);
      await mkdir(at);
      await setLimits(at, limits);
      return groupAt(at);
    },
    prime,
    freeProcesses: () => freeProcessesOf(delegated),
    sweep: () => sweepDead(delegated),
    async close() {
      removeTree(own);
    },
  };
};
