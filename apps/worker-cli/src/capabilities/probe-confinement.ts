import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { findGroups } from '../confine/cgroup/find-groups.ts';
import { seccompFilter } from '../confine/seccomp/filter.ts';
import type { Capability } from './probe-capabilities.ts';

/** Makes a control group, with limits, and removes it. */
export const probeGroups = async (configured?: string): Promise<Capability> => {
  const { groups, reason } = findGroups(configured);
  if (groups === undefined) return { works: false, reason: reason ?? 'no control groups' };
  try {
    await groups.create('probe', { memoryBytes: 64 * 1024 ** 2, processes: 8 }).remove();
    return { works: true, version: String(groups.version) };
  } catch (thrown) {
    return { works: false, version: String(groups.version), reason: (thrown as Error).message };
  } finally {
    await groups.close();
  }
};

const ACTIONS = '/proc/sys/kernel/seccomp/actions_avail';

export const probeSeccomp = (): Capability => {
  if (seccompFilter() === undefined) {
    return { works: false, reason: `no filter for system calls is known for ${process.arch}` };
  }
  if (!existsSync(ACTIONS)) return { works: false, reason: 'this kernel filters no system calls' };
  return { works: true };
};

/** Nothing here sets quotas on a file system: the size of a workspace is watched, and checked after each command. */
export const probeQuota = (): Capability => ({
  works: false,
  reason:
    'no quota of the file system holds; the size of a workspace is watched while a command runs, and checked after it',
});

const CLOSE_ON_EXEC = 0o2000000;

/** Descriptors beside the standard ones that a program started from here would get too. */
export const inheritedDescriptors = (): number[] => {
  if (!existsSync('/proc/self/fdinfo')) return [];
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= 2) return false;
      try {
        const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '';
        return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
      } catch {
        return false;
      }
    });
};

/** What the starter of this process left open would be open in every command too. */
export const probeDescriptors = (): Capability => {
  const open = inheritedDescriptors();
  if (open.length === 0) return { works: true };
  return { works: false, reason: `descriptors ${open.join(', ')} of this process are open in every command` };
};
