import { FabricError } from '@toolfabric/kernel';
import type { ProgramName, Programs } from '../process/find-program.ts';
import {
  type ProcessEnd,
  ProcessNotStarted,
  type ProcessRequest,
  runProcess,
  type User,
} from '../process/run-process.ts';
import { canReachAll, reachCommand, reachedBinds } from './reach.ts';
import { SANDBOX_ENV, type SandboxPrograms, type SandboxSpec, sandboxCommand } from './sandbox-command.ts';

export interface SandboxRequest extends SandboxSpec {
  /** Undefined where the worker is not root. Never root. */
  readonly user: User | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: NonNullable<ProcessRequest['onOutput']>;
  readonly signal: AbortSignal;
}

const unavailable = (why: string, cause?: unknown): FabricError =>
  new FabricError('sandbox_unavailable', why, { cause });

export const needProgram = (programs: Programs, name: ProgramName): string => {
  const path = programs[name];
  if (path === undefined) throw unavailable(`the program ${name} is not on the PATH of the worker`);
  return path;
};

/** The user who can pass the directories above every bind starts the sandbox himself; for any other, see `reach.ts`. */
const commandFor = (programs: Programs, request: SandboxRequest): [string[], User | undefined] => {
  const own: SandboxPrograms = {
    bwrap: needProgram(programs, 'bwrap'),
    prlimit: needProgram(programs, 'prlimit'),
    timeout: needProgram(programs, 'timeout'),
    setpriv: programs.setpriv,
  };
  const { user, binds } = request;
  if (user === undefined || canReachAll(binds, user)) return [sandboxCommand(own, request), user];
  const inner = sandboxCommand(own, { ...request, binds: reachedBinds(binds) });
  const withSetpriv = { ...own, setpriv: needProgram(programs, 'setpriv') };
  return [[...reachCommand(withSetpriv, { binds, needs: [request.command[0]] }, user), ...inner], undefined];
};

/** Bubblewrap itself could not do its work; the command never ran. */
const refused = (end: ProcessEnd): boolean => end.code === 1 && /^(bwrap|setpriv|prlimit|timeout): /.test(end.stderr);

/**
 * Runs one command in a sandbox of its own (design §9, cli). Throws `sandbox_unavailable` where the isolation cannot
 * be had: a missing level refuses, it never falls down a level.
 */
export const runInSandbox = async (programs: Programs, request: SandboxRequest): Promise<ProcessEnd> => {
  if (request.user?.uid === 0) throw unavailable('a child never runs as root');
  const [[file = '', ...args], user] = commandFor(programs, request);
  const { onOutput, timeMs, signal } = request;
  try {
    const end = await runProcess({
      file,
      args,
      env: { ...SANDBOX_ENV, ...request.env },
      user,
      timeoutMs: timeMs,
      signal,
      ...(onOutput === undefined ? {} : { onOutput }),
    });
    if (refused(end)) throw unavailable(`the sandbox could not be made: ${end.stderr.split('\n', 1)[0]}`);
    return end;
  } catch (thrown) {
    if (thrown instanceof ProcessNotStarted) throw unavailable('the sandbox could not be started', thrown);
    throw thrown;
  }
};
