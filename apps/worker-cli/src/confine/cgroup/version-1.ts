import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CallGroup, CallGroups, GroupLimits } from './call-group.ts';
import {
  addTo,
  killAll,
  membersOf,
  primeMoves,
  readKey,
  readNumber,
  removeGroup,
  removeTree,
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

const setLimits = (at: Delegated, limits: GroupLimits): void => {
  write(at.memory, 'memory.limit_in_bytes', limits.memoryBytes);
  try {
    write(at.memory, 'memory.memsw.limit_in_bytes', limits.memoryBytes);
  } catch {
    // This kernel does not count swap; there is nothing to cap.
  }
  write(at.pids, 'pids.max', limits.processes);
};

const killMembers = (at: Delegated): void => {
  // Without this a fork storm makes new ones as fast as they are ended.
  write(at.pids, 'pids.max', 0);
  killAll(membersOf(at.pids));
};

const groupAt = (at: Delegated): CallGroup => ({
  async add(pid) {
    await Promise.all(Object.values(at).map((directory) => addTo(directory, pid)));
  },
  members: () => membersOf(at.pids),
  hits: () => ({
    memory: readKey(at.memory, 'memory.oom_control', 'oom_kill'),
    processes: readKey(at.pids, 'pids.events', 'max'),
  }),
  cpuMs: () => readNumber(at.cpuacct, 'cpuacct.usage') / NANOSECONDS,
  maxMemoryBytes: () => readNumber(at.memory, 'memory.max_usage_in_bytes'),
  kill: () => killMembers(at),
  async remove() {
    await Promise.all(Object.values(at).map(removeGroup));
  },
});

const below = (at: Delegated, name: string): Delegated => ({
  memory: join(at.memory, name),
  pids: join(at.pids, name),
  cpuacct: join(at.cpuacct, name),
});

const make = (at: Delegated): Delegated => {
  for (const directory of Object.values(at)) mkdirSync(directory, { recursive: true });
  return at;
};

/** Groups of cgroup version 1: one directory a controller. Throws where none can be made. */
export const groupsOfVersion1 = (delegated: Delegated): CallGroups => {
  // A directory that nobody has delegated is not made here.
  for (const directory of Object.values(delegated)) statSync(directory);
  const own = make(below(delegated, ownerName()));
  return {
    version: 1,
    create(name, limits) {
      // Together with the worker's own, should somebody have tidied that away while it was empty.
      const at = make(below(own, name));
      setLimits(at, limits);
      return groupAt(at);
    },
    prime: () => primeMoves(own.pids),
    sweep() {
      for (const directory of Object.values(delegated)) sweepDead(directory);
    },
    async close() {
      for (const directory of Object.values(own)) removeTree(directory);
    },
  };
};
