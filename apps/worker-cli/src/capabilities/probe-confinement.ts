import { existsSync } from 'node:fs';
import { inheritedDescriptors } from '@toolfabric/service-host';
import { findGroups } from '../confine/cgroup/find-groups.ts';
import { seccompFilter } from '../confine/seccomp/filter.ts';
import type { Capability } from './probe-capabilities.ts';

/** Makes a control group, with limits, and removes it. */
export const probeGroups = async (configured?: string): Promise<Capability> => {
  const { groups, reason } = findGroups(configured);
  if (groups === undefined) return { works: false, reason: reason ?? 'no control groups' };
  try {
    const group = await groups.create('probe', { memoryBytes: 64 * 1024 ** 2, processes: 8 });
    await group.remove();
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

/** What the starter of this process left open would be open in every command too. */
export const probeDescriptors = (): Capability => {
  const open = inheritedDescriptors();
  if (open.length === 0) return { works: true };
  return { works: false, reason: `descriptors ${open.join(', ')} of this process are open in every command` };
};
