import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where daemons are, which the PATH of an ordinary user often leaves out. */
const ALSO = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/usr/local/bin'];

/** Absolute path of a program on `path` (or in a usual place), or undefined. */
export const findProgram = (name: string, path: string, also: readonly string[] = ALSO): string | undefined => {
  const folders = [...path.split(delimiter).filter((folder) => folder.startsWith('/')), ...also];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
};

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
};
