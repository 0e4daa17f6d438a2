import type { Server } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { execa } from 'execa';
import { type Head, headOf } from './head-of.ts';
import { type Settled, settle } from './settle.ts';

/** Who a process runs as. Undefined where the worker is not root: then it runs as the worker itself. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** What is started. */
export interface ProcessSpec {
  /** Absolute. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: User | undefined;
  /** What the child gets as its descriptors from 3 on: one of this process, or a new pipe to it. */
  readonly descriptors?: readonly (number | 'pipe' | 'ignore')[];
  /** Beside them, as the last one, a channel over which a program made with Node.js can hand over a socket. */
  readonly channel?: boolean;
}

/** How a process is waited for. */
export interface ProcessWatch {
  /** Ends what the process has started, so that it ends by itself; it is killed when that takes too long. */
  readonly onEnd?: () => void;
  /**
   * Gets standard output while it comes; `enough` ends the process. While a promise is open nothing more is read, and
   * the process waits on its full pipe. It never rejects. Left out, the output is thrown away.
   */
  readonly onOutput?: OutputListener;
  /** As `onOutput`, for standard error; left out, only its beginning is kept. */
  readonly onErrorOutput?: OutputListener;
  /** From now on. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ProcessRequest = ProcessSpec & ProcessWatch;

export type OutputListener = (chunk: Buffer) => Wanted | Promise<Wanted>;
type Wanted = 'more' | 'enough';

/** A process whose end somebody may wait for later. What it writes before is lost, but for the beginning of its errors. */
export interface RunningProcess {
  readonly pid: number;
  readonly hasEnded: boolean;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<unknown>;
  /** The beginning of what it has written to standard error so far. */
  errors(): string;
  /** The end of the pipe that the child has as that descriptor; what comes before somebody listens is lost. */
  pipe(descriptor: number): Duplex;
  /** The socket that comes over the channel. Rejects when the channel ends before. */
  handedOver(): Promise<Server>;
  /** Ends the process now. */
  kill(): void;
  /** Waits for its end; to be called once. */
  finish(watch: ProcessWatch): Promise<ProcessEnd>;
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

const start = (spec: ProcessSpec) =>
  execa(spec.file, [...spec.args], {
    cwd: '/',
    env: { ...spec.env },
    extendEnv: false,
    preferLocal: false,
    shell: false,
    reject: false,
    buffer: false,
    cleanup: true,
    // The types of execa know small numbers only; it takes any.
    stdio: ['ignore', 'pipe', 'pipe', ...((spec.descriptors ?? []) as 3[])],
    ipc: spec.channel ?? false,
    serialization: 'json',
    ...(spec.user === undefined ? {} : { uid: spec.user.uid, gid: spec.user.gid }),
  });
type Child = ReturnType<typeof start>;

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

class Running implements RunningProcess {
  readonly pid: number;
  readonly ended: Promise<Settled>;
  readonly #child: Child;
  readonly #errors: Head;
  #hasEnded = false;

  constructor(child: Child, pid: number, result: Promise<unknown>) {
    this.#child = child;
    this.pid = pid;
    const { nodeChildProcess, stderr } = child;
    nodeChildProcess.once('exit', () => (this.#hasEnded = true));
    this.#errors = headOf(stderr as Readable, STDERR_LIMIT);
    this.ended = settle(nodeChildProcess, [child.stdout as Readable, stderr as Readable]).then(async (settled) => {
      for (const extra of nodeChildProcess.stdio.slice(3)) extra?.destroy();
      await result;
      return settled;
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  errors(): string {
    return this.#errors.text();
  }

  pipe(descriptor: number): Duplex {
    return this.#child.nodeChildProcess.stdio[descriptor] as unknown as Duplex;
  }

  handedOver(): Promise<Server> {
    const { nodeChildProcess } = this.#child;
    return new Promise((resolve, reject) => {
      nodeChildProcess.once('message', (_, handle) => {
        // Whoever handed it over ends at the answer, and listens no more.
        if (nodeChildProcess.connected) nodeChildProcess.send('taken', () => {});
        if (handle === undefined) reject(new Error('the channel brought no socket'));
        else resolve(handle as Server);
      });
      nodeChildProcess.once('disconnect', () => reject(new Error('the channel ended')));
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async finish({ onEnd, onOutput, onErrorOutput, timeoutMs, signal }: ProcessWatch): Promise<ProcessEnd> {
    let ending: Ending = 'exited';
    let patience: NodeJS.Timeout | undefined;
    const end = (why: Ending) => {
      if (ending !== 'exited') return;
      ending = why;
      onEnd?.();
      if (onEnd === undefined) this.kill();
      else patience = setTimeout(() => this.kill(), PATIENCE_MS);
    };
    const taking = [
      listen(this.#child.stdout as Readable, onOutput, () => end('enough')),
      listen(this.#child.stderr as Readable, onErrorOutput, () => end('enough')),
    ];
    const timer = setTimeout(() => end('timeout'), timeoutMs);
    const abort = () => end('aborted');
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      const settled = await this.ended;
      await Promise.all(taking.map((taken) => taken()));
      return { ...settled, ending, stderr: this.errors() };
    } finally {
      clearTimeout(timer);
      clearTimeout(patience);
      signal.removeEventListener('abort', abort);
    }
  }
}

/** Starts a program: no shell, no standard input, no inherited environment. Throws `ProcessNotStarted`. */
export const startProcess = async (spec: ProcessSpec): Promise<RunningProcess> => {
  const child = start(spec);
  const result = Promise.resolve(child);
  if (child.pid !== undefined) return new Running(child, child.pid, result);
  const failure = await result;
  throw new ProcessNotStarted(`${spec.file}: ${failure.code ?? 'cannot be started'}`, { cause: failure });
};

/**
 * Runs one program to its end. Ended by SIGKILL at the timeout, at the signal, or when `onOutput` has enough; the
 * caller puts what must not survive that into a PID namespace. Memory is bounded whatever the program writes. Throws
 * `ProcessNotStarted`.
 */
export const runProcess = async (request: ProcessRequest): Promise<ProcessEnd> => {
  if (request.signal.aborted) return { ending: 'aborted', stderr: '', code: null, outputMayContinue: false };
  const running = await startProcess(request);
  return running.finish(request);
};
