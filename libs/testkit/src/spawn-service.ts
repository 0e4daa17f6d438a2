import { spawn } from 'node:child_process';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';

export type ServiceEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export interface SpawnedService {
  readonly pid: number;
  /** Lines of its log, oldest first; the last 2,000. */
  readonly log: readonly string[];
  /** The fields of its log line with the event `ready`; rejects when it ends before. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>;
  readonly exited: Promise<ServiceEnd>;
  kill(signal?: NodeJS.Signals): void;
}

const MAX_LINES = 2000;
const PROGRAMS = [
  dirname(process.execPath),
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];
const ENVIRONMENT = { PATH: [...PROGRAMS, '/opt/homebrew/bin'].join(':'), HOME: homedir(), TMPDIR: tmpdir() };
const LogLine = z.looseObject({ event: z.string() });

const parseLine = (line: string): z.infer<typeof LogLine> | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return LogLine.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
};

/** The kernel ends the child together with this process, however this one dies. */
const command = (main: string): [string, string[]] =>
  process.platform === 'linux'
    ? ['setpriv', ['--pdeathsig', 'KILL', '--', process.execPath, main]]
    : [process.execPath, [main]];

/**
 * Starts `src/main.ts` of an app as a process of its own, on this process's Node. It gets `env`, the usual
 * places of programs and of temporary files, and nothing of our own environment.
 */
export const spawnService = (appDir: string, env: Readonly<Record<string, string>>): SpawnedService => {
  const [program, args] = command(join(appDir, 'src', 'main.ts'));
  const child = spawn(program, args, { env: { ...ENVIRONMENT, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const log: string[] = [];
  const ready = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  ready.promise.catch(() => {});
  const onLine = (line: string) => {
    log.push(line);
    if (log.length > MAX_LINES) log.shift();
    const parsed = parseLine(line);
    if (parsed?.event === 'ready') ready.resolve(parsed);
  };
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine);
  const exited = new Promise<ServiceEnd>((resolve) => {
    child.once('error', () => resolve({ code: 127, signal: null }));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  void exited.then(({ code, signal }) => {
    const tail = log.slice(-10).join('\n');
    ready.reject(new Error(`${appDir} ended (${signal ?? code}) before it was ready:\n${tail}`));
  });
  return {
    pid: child.pid ?? 0,
    log,
    ready: ready.promise,
    exited,
    kill: (signal = 'SIGKILL') => void child.kill(signal),
  };
};
