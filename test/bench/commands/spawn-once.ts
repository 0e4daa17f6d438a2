import { spawn } from 'node:child_process';
import { once } from 'node:events';

const PROGRAM = '/usr/bin/true';

/** Milliseconds from the start of a program to its end, as a plain child of this process. */
export const rawSpawn = async (): Promise<number> => {
  const began = performance.now();
  await once(spawn(PROGRAM, [], { stdio: 'ignore', env: {} }), 'exit');
  return performance.now() - began;
};

const BARE = ['--unshare-all', '--die-with-parent', '--ro-bind', '/usr', '/usr', '--symlink', 'usr/lib', '/lib'];
const REST = ['--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', PROGRAM];

/** The same below bubblewrap with every namespace and nothing else of what the worker adds. */
export const bareSandbox = async (): Promise<number> => {
  const began = performance.now();
  await once(spawn('bwrap', [...BARE, ...REST], { stdio: 'ignore', env: {} }), 'exit');
  return performance.now() - began;
};
