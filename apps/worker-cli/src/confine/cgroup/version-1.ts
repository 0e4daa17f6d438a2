import { mkdirSync, statSync } from 'node:fs';
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
  removeGroup,
  removeTree,
  set,
  write,
} from './group-files.ts';
import { ownerName, sweepDead } from './owner-name.ts';

/** Directories of the three controllers in which groups may be made. */
export interface Delegated {
  readonly memory: string;
  readonly pids: string;
  readonly cpuacct: string;
}

const NANOSECONDS = 1_000_000;

/** While one waits in the kernel, the others would only keep threads of the pool from other work. */
const oneByOne = async (at: Delegated, work: (directory: string) => Promise<unknown>): Promise<void> => {
  for (const directory of Object.values(at)) await work(directory);
};

const setMemory = async ({ memory }: Delegated, { memoryBytes }: GroupLimits): Promise<void> => {
  await set(memory, 'memory.limit_in_bytes', memoryBytes);
  // A kernel that does not count swap has nothing to cap.
  await set(memory, 'memory.memsw.limit_in_bytes', memoryBytes).catch(() => {});
};

const setLimits = async (at: Delegated, limits: GroupLimits): Promise<void> => {
  await setMemory(at, limits);
  await set(at.pids, 'pids.max', limits.processes);
};

const killMembers = (at: Delegated): void => {
  // Without this a fork storm makes new ones as fast as they are ended.
  write(at.pids, 'pids.max', 0);
  killAll(membersOf(at.pids));
};

const groupAt = (at: Delegated): CallGroup => ({
  add: (pid) => oneByOne(at, (directory) => addTo(directory, pid)),
  members: () => membersOf(at.pids),
  hits: () => ({
    memory: readKey(at.memory, 'memory.oom_control', 'oom_kill'),
    processes: readKey(at.pids, 'pids.events', 'max'),
  }),
  cpuMs: () => readNumber(at.cpuacct, 'cpuacct.usage') / NANOSECONDS,
  maxMemoryBytes: () => readNumber(at.memory, 'memory.max_usage_in_bytes'),
  kill: () => killMembers(at),
  remove: () => oneByOne(at, removeGroup),
});

const below = (at: Delegated, name: string): Delegated => ({
  memory: join(at.memory, name),
  pids: join(at.pids, name),
  cpuacct: join(at.cpuacct, name),
});

const make = async (at: Delegated): Promise<void> => {
  await oneByOne(at, (directory) => mkdir(directory, { recursive: true }));
};

/** Groups of cgroup version 1: one directory a controller; this process is in `home`. Throws where none can be made. */
export const groupsOfVersion1 = (delegated: Delegated, home: string | undefined): CallGroups => {
  // A directory that nobody has delegated is not made here.
  for (const directory of Object.values(delegated)) statSync(directory);
  const own = below(delegated, ownerName());
  for (const directory of Object.values(own)) mkdirSync(directory);
  const prime = home === undefined ? () => {} : primerOf(home);
  return {
    version: 1,
    async create(name, limits) {
      // Together with the worker's own, should somebody have tidied that away while it was empty.
      const at = below(own, name);
      await make(at);
      await setLimits(at, limits);
      return groupAt(at);
    },
    prime,
    freeProcesses: () => freeProcessesOf(delegated.pids),
    sweep() {
      for (const directory of Object.values(delegated)) sweepDead(directory);
    },
    async close() {
      for (const directory of Object.values(own)) removeTree(directory);
    },
  };
};
