import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallGroups } from './call-group.ts';
import { membersOf, write } from './group-files.ts';
import { groupsOfVersion1 } from './version-1.ts';
import { groupsOfVersion2 } from './version-2.ts';

export interface FoundGroups {
  readonly groups: CallGroups | undefined;
  /** Why there are none. */
  readonly reason: string | undefined;
}

/** Where each controller is mounted, and where this process stands in it. */
interface Hierarchy {
  readonly controllers: readonly string[];
  readonly mount: string;
  readonly own: string;
}

/** Octal escapes of the kernel's mount table. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const ownPaths = (): Map<string, string> => {
  const paths = new Map<string, string>();
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const name of controllers?.split(',') ?? []) paths.set(name, path ?? '/');
  }
  return paths;
};

/** Below its mount a container sees its own directory as the root, whatever `/proc/self/cgroup` says. */
const ownDirectory = (mount: string, path: string): string => {
  const own = join(mount, path);
  return existsSync(own) ? own : mount;
};

const hierarchies = (): Hierarchy[] => {
  const paths = ownPaths();
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([, mount = '', type, options = '']) => {
      if (type !== 'cgroup' && type !== 'cgroup2') return [];
      const controllers = type === 'cgroup2' ? [''] : options.split(',').filter((name) => paths.has(name));
      const [first] = controllers;
      if (first === undefined) return [];
      const place = unescaped(mount);
      return [{ controllers, mount: place, own: ownDirectory(place, paths.get(first) ?? '/') }];
    });
};

const directoryOf = (all: readonly Hierarchy[], controller: string, configured: string | undefined) => {
  const found = all.find(({ controllers }) => controllers.includes(controller));
  if (found === undefined) return undefined;
  return configured === undefined ? found.own : join(found.mount, configured);
};

/**
 * Version 2 lets no group hand controllers down that has processes itself: this process goes into a leaf, where it is
 * alone in its group.
 */
const stepAside = (directory: string): void => {
  const members = membersOf(directory);
  if (members.length === 0 || members.some((pid) => pid !== process.pid)) return;
  const leaf = join(directory, 'worker');
  mkdirSync(leaf, { recursive: true });
  write(leaf, 'cgroup.procs', process.pid);
};

const open = (configured: string | undefined): CallGroups => {
  const all = hierarchies();
  const [memory, pids, cpuacct] = ['memory', 'pids', 'cpuacct'].map((name) => directoryOf(all, name, configured));
  if (memory !== undefined && pids !== undefined && cpuacct !== undefined) {
    return groupsOfVersion1({ memory, pids, cpuacct }, directoryOf(all, 'pids', undefined));
  }
  const unified = directoryOf(all, '', configured);
  if (unified === undefined) throw new Error('no control groups are mounted');
  if (configured === undefined) stepAside(unified);
  return groupsOfVersion2(unified, directoryOf(hierarchies(), '', undefined));
};

/**
 * Control groups below a delegated directory: `configured`, relative to the mount of each controller, or the directory
 * that this process is in. Also removes what dead workers left there.
 */
export const findGroups = (configured: string | undefined): FoundGroups => {
  if (process.platform !== 'linux') return { groups: undefined, reason: 'only Linux has control groups' };
  try {
    const groups = open(configured);
    groups.sweep();
    return { groups, reason: undefined };
  } catch (thrown) {
    return { groups: undefined, reason: (thrown as Error).message };
  }
};
