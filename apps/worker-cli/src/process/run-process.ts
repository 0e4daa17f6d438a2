import type { Duplex, Readable } from 'node:stream';
import { execa } from 'execa';
import { headOf } from './head-of.ts';
import { type Settled, settle } from './settle.ts';

/** Who a process runs as. Undefined where the worker is not root: then it runs as the worker itself. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface ProcessRequest {
  /** Absolute. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: User | undefined;
  /** What the child gets as its descriptors from 3 on: one of this process, or a new pipe to it. */
  readonly descriptors?: readonly (number | 'pipe')[];
  /** Ends what the process has started, so that it ends by itself; it is killed when that takes too long. */
  readonly onEnd?: () => void;
  /** Called once it runs, with the ends of its pipes by their number. */
  readonly onStart?: (started: Started) => void;
  /**
   * Gets standard output while it comes; `enough` ends the process. While a promise is open nothing more is read, and
   * the process waits on its full pipe. It never rejects. Left out, the output is thrown away.
   */
  readonly onOutput?: OutputListener;
  /** As `onOutput`, for standard error; left out, only its beginning is kept. */
  readonly onErrorOutput?: OutputListener;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type OutputListener = (chunk: Buffer) => Wanted | Promise<Wanted>;
type Wanted = 'more' | 'enough';

export interface Started {
  readonly pid: number;
  /** The end of the pipe that the child has as that descriptor. */
  pipe(descriptor: number): Duplex;
  /** Ends the process now. */
  kill(): void;
}

export type Ending = 'exited' | 'timeout' | 'aborted' | 'enough';

export interface ProcessEnd extends Settled {
  readonly ending: Ending;
  /** The first 16 KiB of standard error. */
  readonly stderr: string;
}

/** The program could not be started at all: it is missing, or this user may not start it. */
export class ProcessNotStarted extends Error {
  override readonly name = 'ProcessNotStarted';
}

/** Milliseconds in which a process ends by itself once what it had started is gone. */
const PATIENCE_MS = 500;
const STDERR_LIMIT = 16 * 1024;

const start = (request: ProcessRequest) =>
  execa(request.file, [...request.args], {
    cwd: '/',
    env: { ...request.env },
    extendEnv: false,
    preferLocal: false,
    shell: false,
    reject: false,
    buffer: false,
    cleanup: true,
    // The types of execa know small numbers only; it takes any.
    stdio: ['ignore', 'pipe', 'pipe', ...((request.descriptors ?? []) as 3[])],
    ...(request.user === undefined ? {} : { uid: request.user.uid, gid: request.user.gid }),
  });

/** Hands every chunk to `listener`, one at a time; gives back the wait for the last of them. */
const listen = (stream: Readable, listener: OutputListener | undefined, enough: () => void): (() => Promise<void>) => {
  let over = false;
  let open: Promise<void> = Promise.resolve();
  const take = (wanted: Wanted) => {
    if (wanted === 'more' || over) return;
    over = true;
    enough();
  };
  stream.on('data', (chunk: Buffer) => {
    const answer = over ? 'more' : (listener?.(chunk) ?? 'more');
    if (typeof answer === 'string') return take(answer);
    stream.pause();
    open = answer.then(take).finally(() => stream.resume());
  });
  return () => open;
};

/**
 * Runs one program to its end: no shell, no standard input, no inherited environment. Ended by SIGKILL at the
 * timeout, at the signal, or when `onOutput` has enough; the caller puts what must not survive that into a PID
 * namespace. Memory is bounded whatever the program writes. Throws `ProcessNotStarted`.
 */
export const runProcess = async (request: ProcessRequest): Promise<ProcessEnd> => {
  if (request.signal.aborted) return { ending: 'aborted', stderr: '', code: null, outputMayContinue: false };
  const child = start(request);
  const result = Promise.resolve(child);
  if (child.pid === undefined) {
    const failure = await result;
    throw new ProcessNotStarted(`${request.file}: ${failure.code ?? 'cannot be started'}`, { cause: failure });
  }
  let ending: Ending = 'exited';
  let patience: NodeJS.Timeout | undefined;
  const end = (why: Ending) => {
    if (ending !== 'exited') return;
    ending = why;
    request.onEnd?.();
    if (request.onEnd === undefined) child.kill('SIGKILL');
    else patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  };
  const stdout = child.stdout as Readable;
  const stderr = child.stderr as Readable;
  const errors = headOf(stderr, STDERR_LIMIT);
  const taking = [
    listen(stdout, request.onOutput, () => end('enough')),
    listen(stderr, request.onErrorOutput, () => end('enough')),
  ];
  request.onStart?.({
    pid: child.pid,
    pipe: (descriptor) => child.nodeChildProcess.stdio[descriptor] as unknown as Duplex,
    kill: () => void child.kill('SIGKILL'),
  });
  const timer = setTimeout(() => end('timeout'), request.timeoutMs);
  const abort = () => end('aborted');
  request.signal.addEventListener('abort', abort, { once: true });
  try {
    const settled = await settle(child.nodeChildProcess, [stdout, stderr]);
    for (const extra of child.nodeChildProcess.stdio.slice(3)) extra?.destroy();
    await Promise.all([result, ...taking.map((taken) => taken())]);
    return { ...settled, ending, stderr: errors.text() };
  } finally {
    clearTimeout(timer);
    clearTimeout(patience);
    request.signal.removeEventListener('abort', abort);
  }
};
