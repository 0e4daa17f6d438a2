import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const TOOLFABRIC = fileURLToPath(new URL('../../apps/toolfabric/bin/toolfabric', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when stdout or stderr holds the text; rejects when the command ended without it. */
  said(text: string): Promise<void>;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly program?: string;
}

/** Only what a login would give; nothing of the test run leaks in. */
const environment = (): NodeJS.ProcessEnv => {
  const { PATH = '/usr/bin:/bin', HOME = '/tmp', TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
};

/** Starts the real command line, in a process group of its own, as a shell does. */
export const startCommand = (args: readonly string[], options: CommandOptions = {}): Running => {
  const child = spawn(options.program ?? TOOLFABRIC, [...args], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...environment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const text = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
      child.emit('said');
    });
  }
  const ended = (once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>).then(([code, signal]) => ({
    code,
    signal,
    ...text,
  }));
  const said = async (wanted: string) => {
    while (!text.stdout.includes(wanted) && !text.stderr.includes(wanted)) {
      await Promise.race([
        once(child, 'said'),
        ended.then(() => Promise.reject(new Error(`ended: ${text.stdout}${text.stderr}`))),
      ]);
    }
  };
  return { child, ended, said };
};

/** Runs a command to its end. */
export const runCommand = (args: readonly string[], options: CommandOptions = {}): Promise<Ended> =>
  startCommand(args, options).ended;

/** One line of JSON, which is all that a command with `--json` prints. */
export const jsonOf = ({ stdout, stderr }: Ended): unknown => {
  const lines = stdout.trim().split('\n');
  if (lines.length !== 1 || !lines[0]) throw new Error(`not one line: ${stdout}${stderr}`);
  return JSON.parse(lines[0]);
};

/** Command lines of living processes that name `text`, there or in their environment: what a run left behind. */
export const processesNaming = (text: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const [words, settings] = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
        const named = words?.includes(text) || settings?.includes(text);
        return named ? [`${pid} ${words?.replaceAll('\0', ' ').trim()}`] : [];
      } catch {
        return [];
      }
    });
