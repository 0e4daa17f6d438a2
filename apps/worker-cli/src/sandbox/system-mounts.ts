import { lstatSync, readlinkSync } from 'node:fs';

/** Directories of the system that a program needs to start, beside `/usr`. */
const BESIDE_USR = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

const mountOf = (path: string): string[] => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (stats.isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
  return ['--ro-bind', path, path];
};

/** The read-only system as bubblewrap arguments: programs and their libraries, nothing of `/etc`, `/var` or a home. */
export const systemMounts = (): string[] => ['--ro-bind', '/usr', '/usr', ...BESIDE_USR.flatMap(mountOf)];
