import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** The system programs that this worker starts. Every one is started by its absolute path. */
export const PROGRAMS = ['bwrap', 'rg', 'git', 'flock', 'prlimit', 'timeout', 'setpriv'] as const;
export type ProgramName = (typeof PROGRAMS)[number];
export type Programs = Readonly<Record<ProgramName, string | undefined>>;

const executableAt = (file: string): string | undefined => {
  try {
    const real = realpathSync(file);
    accessSync(real, constants.X_OK);
    return statSync(real).isFile() ? real : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The real path of `name` in the first directory of `searchPath` that has it. Relative entries are passed over: a
 * program must never come from the directory that somebody happens to stand in.
 */
export const findProgram = (name: string, searchPath: readonly string[]): string | undefined => {
  for (const directory of searchPath) {
    const found = isAbsolute(directory) ? executableAt(join(directory, name)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

export const findPrograms = (searchPath: readonly string[]): Programs =>
  Object.fromEntries(PROGRAMS.map((name) => [name, findProgram(name, searchPath)])) as Programs;
