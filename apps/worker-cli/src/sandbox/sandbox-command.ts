import type { Programs } from '../process/find-program.ts';
import { systemMounts } from './system-mounts.ts';

/** One host path that is visible inside. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
}

export interface SandboxSpec {
  /** Absolute on the host, with its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly binds: readonly Bind[];
  /** Working directory inside. */
  readonly cwd: string;
  readonly limits: SandboxLimits;
  /** Milliseconds that the command may take. */
  readonly timeMs: number;
}

export interface SandboxLimits {
  /** Bytes of address space of each process. */
  readonly memoryBytes: number;
  /** Bytes of the largest file that may be written. */
  readonly fileBytes: number;
}

export type SandboxPrograms = Pick<Programs, 'setpriv'> & {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly timeout: string;
};

/** The whole environment inside. */
export const SANDBOX_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/bin:/bin',
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
};

const bindArgs = ({ source, target, writable }: Bind): string[] => [writable ? '--bind' : '--ro-bind', source, target];

/** Programs that do not lie below `/usr` are shown at their own paths. */
export const programBinds = (programs: readonly string[]): string[] =>
  programs.filter((program) => !program.startsWith('/usr/')).flatMap((program) => ['--ro-bind', program, program]);

/**
 * The limits that hold from inside. The time is there for one case: a worker that is killed in the few milliseconds in
 * which bubblewrap has not yet bound the sandbox to it. Then nobody outside ends it, and it ends itself: `timeout` is
 * process 1 of the name space, and everything in there dies with it.
 */
const limited = (programs: SandboxPrograms, { command, limits, timeMs }: SandboxSpec): string[] => [
  programs.prlimit,
  `--as=${limits.memoryBytes}`,
  `--fsize=${limits.fileBytes}`,
  '--core=0',
  '--',
  programs.timeout,
  '--signal=KILL',
  `${Math.ceil(timeMs / 1000) + 1}`,
  ...command,
];

/**
 * The command line of one sandbox: namespaces of its own for mounts, network (empty), users, processes, IPC and host
 * name; the binds and a read-only system, a private `/tmp`, no capability, no terminal; it dies with its starter, and
 * everything in it dies with its first process.
 */
export const sandboxCommand = (programs: SandboxPrograms, spec: SandboxSpec): string[] => [
  programs.bwrap,
  '--unshare-all',
  '--as-pid-1',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  ...systemMounts(),
  ...programBinds([spec.command[0], programs.prlimit, programs.timeout]),
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--tmpfs',
  '/tmp',
  ...spec.binds.flatMap(bindArgs),
  '--chdir',
  spec.cwd,
  '--',
  ...limited(programs, spec),
];
