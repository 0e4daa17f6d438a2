import { join } from 'node:path';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { type Bind, programBinds } from '../sandbox/sandbox-command.ts';
import { systemMounts } from '../sandbox/system-mounts.ts';
import type { Confinement } from './confinement.ts';
import type { CommandLimits } from './limits.ts';
import { INSIDE } from './system-files.ts';

/** The descriptors that a confined command is started with; none of them reaches the program. */
export const DESCRIPTORS = { gate: 3, info: 4, block: 5, seccomp: 6, lock: 7 } as const;

/**
 * What stands between the sandbox and the program: waits for the word of the worker, so that nothing runs which the
 * worker does not know of and has not put under its limits, says that it begins, and starts the program. A worker that
 * dies before its word closes the descriptor, and the gate ends. It is process 1 of the name space: it takes in what
 * the program leaves behind, holds the lock of the workspace, and everything dies with it. The text is constant; the
 * program and its arguments are passed beside it and never read by this shell, and nothing that it says itself reaches
 * the output of the program.
 */
const GATE = [
  `IFS= read -r word <&${DESCRIPTORS.gate} || exit 125`,
  '[ "$word" = go ] || exit 125',
  'ulimit -c 0',
  'ulimit -f "$1"',
  'shift',
  `echo begun >&${DESCRIPTORS.gate}`,
  `exec 3<&- 4<&- 5<&- 6<&- 9>&2 2>/dev/null`,
  `"$@" 2>&9 9>&- ${DESCRIPTORS.lock}<&-`,
  'exit "$?"',
].join('\n');

/** The only shell that is ever started, by its path inside. */
const SHELL = '/bin/sh';
/** The unit of `ulimit -f`. */
const BLOCK = 512;

export interface CommandSpec {
  /** Absolute inside, with its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly binds: readonly Bind[];
  /** Working directory inside. */
  readonly cwd: string;
  /** Directories and links inside, as bubblewrap arguments, after the binds. */
  readonly arrange?: readonly string[];
}

const limited = (confinement: Confinement, { command }: CommandSpec, limits: CommandLimits): string[] => {
  const gate = [SHELL, '-c', GATE, 'gate', String(Math.floor(limits.fileBytes / BLOCK)), ...command];
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

export const environmentOf = (
  { toolchains }: Pick<Confinement, 'toolchains'>,
  fixed: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  PATH: [...toolchains.map((directory) => join(directory, 'bin')), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  HOME: INSIDE.home,
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
  ...fixed,
});

/**
 * The command line of one confined command: every namespace its own, a fixed user inside, a read-only system with an
 * `/etc` of its own, a private `/tmp` and `/dev/shm` of a fixed size and nothing else to write to, no capability, a
 * filter for system calls.
 */
export const confinedCommand = (
  confinement: Confinement,
  bwrap: string,
  spec: CommandSpec,
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
  ...programBinds(
    [spec.command[0]].filter((program) => !confinement.toolchains.some((dir) => program.startsWith(`${dir}/`))),
  ),
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
  ...spec.binds.flatMap(({ source, target, writable }) => [writable ? '--bind' : '--ro-bind', source, target]),
  ...(spec.arrange ?? []),
  // What bubblewrap makes itself lies in memory without a bound.
  '--remount-ro',
  '/dev',
  '--remount-ro',
  '/',
  '--chdir',
  spec.cwd,
  '--',
  ...limited(confinement, spec, limits),
];
