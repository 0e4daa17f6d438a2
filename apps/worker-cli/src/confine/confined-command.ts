import { join } from 'node:path';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { systemMounts } from '../sandbox/system-mounts.ts';
import type { Confinement } from './confinement.ts';
import { DESCRIPTORS, GATE } from './gate.ts';
import type { CommandLimits } from './limits.ts';
import { INSIDE } from './system-files.ts';

/** The only shell that is ever started, by its path inside. */
const SHELL = '/bin/sh';
/** The unit of `ulimit -f`. */
const BLOCK = 512;

/** What a sandbox is made of; its command, and the directory of that, come later. */
export interface SandboxPlan {
  /** Programs that are started in it and that nothing else shows, absolute. */
  readonly needs: readonly string[];
  readonly binds: readonly Bind[];
  /** Directories and links inside, as bubblewrap arguments, after the binds. */
  readonly arrange?: readonly string[];
}

const limited = (confinement: Confinement, limits: CommandLimits): string[] => {
  const gate = [SHELL, '-c', GATE, 'gate', String(Math.floor(limits.fileBytes / BLOCK))];
  if (confinement.groups !== undefined) return gate;
  const prlimit = needProgram(confinement.programs, 'prlimit');
  const seconds = Math.max(1, Math.ceil(limits.cpuMs / 1000));
  return [prlimit, `--as=${limits.memoryBytes}`, `--nproc=${limits.processes}`, `--cpu=${seconds}`, '--', ...gate];
};

/** The descriptors of bubblewrap itself. With a sandbox around this one, that one holds the command back. */
export const holdArgs = (): string[] => [
  '--info-fd',
  String(DESCRIPTORS.info),
  '--block-fd',
  String(DESCRIPTORS.block),
];

/** Of every program; a command may have more. */
export const environmentOf = ({ toolchains }: Pick<Confinement, 'toolchains'>): Record<string, string> => ({
  PATH: [...toolchains.map((directory) => join(directory, 'bin')), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  HOME: INSIDE.home,
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
});

/**
 * The command line of the sandbox of one command, up to its gate: every namespace its own, a fixed user inside, a
 * read-only system with an `/etc` of its own, a private `/tmp` and `/dev/shm` of a fixed size and nothing else to write
 * to, no capability, a filter for system calls.
 */
export const confinedCommand = (
  confinement: Confinement,
  bwrap: string,
  plan: SandboxPlan,
  limits: CommandLimits,
): string[] => [
  bwrap,
  '--unshare-all',
  '--as-pid-1',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  '--uid',
  String(INSIDE.uid),
  '--gid',
  String(INSIDE.gid),
  '--hostname',
  'sandbox',
  ...(confinement.seccomp === undefined ? [] : ['--seccomp', String(DESCRIPTORS.seccomp)]),
  ...systemMounts(),
  ...plan.needs.flatMap((program) => ['--ro-bind', program, program]),
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--size',
  String(limits.tmpBytes),
  '--tmpfs',
  '/dev/shm',
  '--size',
  String(limits.tmpBytes),
  '--tmpfs',
  '/tmp',
  '--perms',
  '0700',
  '--dir',
  INSIDE.home,
  ...plan.binds.flatMap(({ source, target, writable }) => [writable ? '--bind' : '--ro-bind', source, target]),
  ...(plan.arrange ?? []),
  // What bubblewrap makes itself lies in memory without a bound.
  '--remount-ro',
  '/dev',
  '--remount-ro',
  '/',
  '--chdir',
  '/',
  '--',
  ...limited(confinement, limits),
];
