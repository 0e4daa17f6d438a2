import { lstatSync } from 'node:fs';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { descriptorPath, type OpenRoot } from '../workspace/open-root.ts';

/**
 * The repository of a workspace is shown read-only: a hook or a setting that a command wrote there would run later,
 * outside of any sandbox, when a person uses git. A link in its place is left as it is; it leads nowhere inside.
 */
export const gitBinds = (root: OpenRoot, inside: string): Bind[] => {
  const stats = lstatSync(`${descriptorPath(root.handle)}/.git`, { throwIfNoEntry: false });
  if (stats === undefined || !(stats.isDirectory() || stats.isFile())) return [];
  return [{ source: `${root.path}/.git`, target: `${inside}/.git`, writable: false }];
};
