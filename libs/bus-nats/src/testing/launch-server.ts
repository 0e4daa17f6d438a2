import { type ChildProcess, spawn } from 'node:child_process';
import { connect as connectTcp } from 'node:net';

export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
}

export interface LaunchOptions {
  /** Path or name of the nats-server program. */
  readonly program: string;
  readonly configFile: string;
  readonly host: string;
  readonly port: number;
  /** Milliseconds until it must accept connections. */
  readonly readyTimeoutMs?: number;
  /** One line of the server's log at a time. */
  onLog?(line: string): void;
}

/** The kernel ends the server together with this process, however this one dies. */
const withParent = (program: string, args: readonly string[]): [string, string[]] =>
  process.platform === 'linux' ? ['setpriv', ['--pdeathsig', 'KILL', '--', program, ...args]] : [program, [...args]];

const greets = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTcp({ host, port });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(500, () => end(false));
    socket.once('data', (data) => end(data.toString('utf8').startsWith('INFO ')));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
  });

const readLines = (child: ChildProcess, onLog: (line: string) => void): void => {
  let rest = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) onLog(line);
  });
};

/** Starts a nats-server as a child and resolves when it greets. Throws with its last log lines when it does not. */
export const launchServer = async (options: LaunchOptions): Promise<ServerProcess> => {
  const [command, args] = withParent(options.program, ['-c', options.configFile]);
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const last: string[] = [];
  readLines(child, (line) => {
    last.push(line);
    if (last.length > 20) last.shift();
    options.onLog?.(line);
  });
  let ended = false;
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    const end = (how: number | NodeJS.Signals) => {
      ended = true;
      resolve(how);
    };
    child.once('error', () => end(127));
    child.once('exit', (code, signal) => end(signal ?? code ?? 1));
  });
  const deadline = performance.now() + (options.readyTimeoutMs ?? 15_000);
  while (!(await greets(options.host, options.port))) {
    if (!ended && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    child.kill('SIGKILL');
    throw new Error(`the bus server did not start: ${last.slice(-5).join(' | ')}`);
  }
  if (ended || child.pid === undefined) throw new Error('another process listens on the port of the bus server');
  return { pid: child.pid, exited, kill: (signal) => void child.kill(signal) };
};
