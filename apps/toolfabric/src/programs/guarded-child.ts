/**
 * A child process that does not outlive this one, however this one ends.
 *
 * G1 It dies with its parent: by the kernel (setpriv) where there is one that does it, else by a shell that waits
 *    for the end of a pipe which only the parent holds.
 * G2 It is in a session of its own: Ctrl-C in the terminal reaches the parent alone, which stops it in its turn.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';

export interface GuardedCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Path of setpriv, where the system has it. */
  readonly setpriv: string | undefined;
  /** File descriptor for both output streams. */
  readonly log: number;
  readonly env: NodeJS.ProcessEnv;
}

/** `$@` is the command; descriptor 3 is the pipe. */
const SHELL_GUARD = `"$@" <&- 3<&- &
child=$!
trap 'kill -TERM $child' TERM INT
(read -r _ <&3; kill -KILL $child) 2>/dev/null &
guard=$!
exec 3<&-
wait $child; code=$?
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
kill $guard 2>/dev/null
exit $code`;

export const startGuarded = ({ program, args, setpriv, log, env }: GuardedCommand): ChildProcess => {
  const kernel = setpriv !== undefined;
  const [file, words]: [string, string[]] = kernel
    ? [setpriv, ['--pdeathsig', 'KILL', '--', program, ...args]]
    : ['/bin/sh', ['-c', SHELL_GUARD, 'guard', program, ...args]];
  const stdio: StdioOptions = kernel ? ['ignore', log, log] : ['ignore', log, log, 'pipe'];
  return spawn(file, words, { stdio, detached: true, env });
};
