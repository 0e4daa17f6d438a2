import { readdirSync, readlinkSync } from 'node:fs';
import type { CallGroup } from './cgroup/call-group.ts';
import { killAll } from './cgroup/group-files.ts';

/** How the processes that are left of a command are found. */
export interface Census {
  readonly by: 'cgroup' | 'pid_namespace';
  members(): number[];
  kill(): void;
}

const ended = (pid: number): boolean => {
  try {
    // A process that has ended and was not waited for has no name space any more.
    readlinkSync(`/proc/${pid}/ns/pid`);
    return false;
  } catch {
    return true;
  }
};

const inNamespaces = (ids: ReadonlySet<string>): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return ids.has(readlinkSync(`/proc/${pid}/ns/pid`));
      } catch {
        return false;
      }
    });

export const groupCensus = (group: CallGroup): Census => ({
  by: 'cgroup',
  members: () => group.members(),
  kill: () => group.kill(),
});

/** By the inode of the PID namespace, for a machine without control groups. */
export const namespaceCensus = (namespace: number): Census => {
  const ids = new Set([`pid:[${namespace}]`]);
  const members = () => inNamespaces(ids);
  return { by: 'pid_namespace', members, kill: () => killAll(members().filter((pid) => !ended(pid))) };
};

/** Milliseconds after which what is still there is a survivor. */
const PATIENCE_MS = 3_000;

/**
 * The number of processes that are left. Everything in a PID namespace dies with its first process, which takes the
 * kernel a moment; whatever is still there is ended once more, and what even that does not end is counted.
 */
export const countSurvivors = async (census: Census): Promise<number> => {
  const start = performance.now();
  let killed = false;
  for (let step = 0; ; step += 1) {
    const left = census.members().length;
    const waited = performance.now() - start;
    if (left === 0 || waited > PATIENCE_MS) return left;
    if (!killed && waited > 100) {
      census.kill();
      killed = true;
    }
    await new Promise((resolve) => (step < 3 ? setImmediate(resolve) : setTimeout(resolve, Math.min(50, step - 2))));
  }
};
