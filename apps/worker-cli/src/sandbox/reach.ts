import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { User } from '../process/run-process.ts';
import { type Bind, programBinds, type SandboxPrograms } from './sandbox-command.ts';
import { systemMounts } from './system-mounts.ts';

const mayEnter = (stats: { uid: number; gid: number; mode: number }, user: User): boolean => {
  if (stats.uid === user.uid) return (stats.mode & 0o100) !== 0;
  return (stats.mode & (stats.gid === user.gid ? 0o010 : 0o001)) !== 0;
};

/** Whether `user` may pass every directory above `path`. */
export const canReach = (path: string, user: User): boolean => {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    // A few microseconds each; asked for one by one in a thread pool they would take a millisecond together.
    if (!mayEnter(statSync(parent), user)) return false;
    if (parent === '/') return true;
  }
};

/** Whether `user` may pass every directory above every bind. */
export const canReachAll = (binds: readonly Bind[], user: User): boolean =>
  binds.every(({ source }) => canReach(source, user));

const place = (index: number): string => `/reach/${index}`;

/** The bind that shows the source of another one already. */
const above = (binds: readonly Bind[], { source }: Bind): Bind | undefined =>
  binds.find((other) => source.startsWith(`${other.source}/`));

/** Whether it, or what lies in it, is to be writable; the inner sandbox shows the rest of it read-only again. */
const isWritten = (binds: readonly Bind[], bind: Bind): boolean =>
  [bind, ...binds.filter(({ source }) => source.startsWith(`${bind.source}/`))].some(({ writable }) => writable);

/** Where the source of a bind lies for the inner sandbox; what lies in another one is never looked up by root. */
const reached = (binds: readonly Bind[], bind: Bind): string => {
  const holder = above(binds, bind);
  if (holder === undefined) return place(binds.indexOf(bind));
  return place(binds.indexOf(holder)) + bind.source.slice(holder.source.length);
};

/** The same binds, taken from where `reachCommand` puts their sources. */
export const reachedBinds = (binds: readonly Bind[]): Bind[] =>
  binds.map((bind) => ({ ...bind, source: reached(binds, bind) }));

/**
 * What a root worker puts in front of a sandbox whose user may not pass the directories above a bind (a state
 * directory below `/root`): a mount namespace that shows those binds at a short path, made by root, and then the drop
 * to `user` without any way back. Its own PID namespace makes sure that all of it ends when the worker does: the
 * change of the user would clear a parent-death signal.
 */
export const reachCommand = (
  programs: SandboxPrograms & { readonly setpriv: string },
  { binds, needs }: { readonly binds: readonly Bind[]; readonly needs: readonly string[] },
  user: User,
): string[] => [
  programs.bwrap,
  '--unshare-pid',
  '--die-with-parent',
  '--new-session',
  ...systemMounts(),
  ...programBinds([programs.bwrap, programs.prlimit, programs.timeout, programs.setpriv, ...needs]),
  // The whole `/proc` of the host: the kernel lets the inner sandbox mount its own only where one is fully visible.
  '--bind',
  '/proc',
  '/proc',
  '--dev-bind',
  '/dev',
  '/dev',
  '--tmpfs',
  '/tmp',
  '--perms',
  '0755',
  '--dir',
  '/reach',
  ...binds.flatMap((bind, index) => {
    if (above(binds, bind) !== undefined) return [];
    return [isWritten(binds, bind) ? '--bind' : '--ro-bind', bind.source, place(index)];
  }),
  '--',
  programs.setpriv,
  `--reuid=${user.uid}`,
  `--regid=${user.gid}`,
  '--clear-groups',
  '--inh-caps=-all',
  '--bounding-set=-all',
  '--no-new-privs',
  '--',
];
