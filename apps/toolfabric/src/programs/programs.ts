import { findProgram } from './find-program.ts';

/** The system programs that one machine needs, and what each is for. */
export const PROGRAMS = {
  'nats-server': { for: 'the bus: nothing works without it', linuxOnly: false },
  rg: { for: 'workspace.search_code', linuxOnly: false },
  git: { for: 'tasks that work on a clone', linuxOnly: false },
  bwrap: { for: 'the sandbox under every command', linuxOnly: true },
  setpriv: { for: 'low privilege under every command, and no nats-server left behind', linuxOnly: true },
  prlimit: { for: 'memory and file limits of every command', linuxOnly: true },
  flock: { for: 'locks of workspaces and of the state folder', linuxOnly: true },
} as const satisfies Record<string, { for: string; linuxOnly: boolean }>;
export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as ProgramName[];

/** Absolute paths; what is missing has none. */
export type Programs = Readonly<Partial<Record<ProgramName, string | undefined>>>;

export const findPrograms = (path: string, also?: readonly string[]): Programs =>
  Object.fromEntries(
    PROGRAM_NAMES.flatMap((name) => {
      const found = findProgram(name, path, also);
      return found === undefined ? [] : [[name, found]];
    }),
  );
