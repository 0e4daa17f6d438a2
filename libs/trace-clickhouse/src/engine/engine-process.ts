import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { StoreUnavailable } from '@toolfabric/ports';
import type { EngineArguments, EngineFailure, EngineReply, EngineRequest } from './engine-messages.ts';

/** Why an engine could not be opened. */
export class EngineNotOpened extends Error {
  override readonly name = 'EngineNotOpened';
  readonly why: EngineFailure;

  constructor(why: EngineFailure, message: string) {
    super(message);
    this.why = why;
  }
}

/** The engine looked at the statement and refused it; the text is the engine's own. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
}

type Asked = Omit<Extract<EngineRequest, { op: 'query' }>, 'id'> | Omit<Extract<EngineRequest, { op: 'insert' }>, 'id'>;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  resolve(data: Uint8Array): void;
  reject(error: Error): void;
}

const MAIN = fileURLToPath(new URL('./engine-main.ts', import.meta.url));
const OPEN_MS = 20_000;
const CLOSE_MS = 5_000;

/**
 * One run of the engine's process.
 *
 * Invariants. (1) Every request ends by its timeout; one that ends so takes the process with it, since native work
 * cannot be called back. (2) When the process ends, for whatever reason, all requests end as `StoreUnavailable`.
 */
export class EngineProcess {
  readonly version: string;
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  #rss = 0;
  #gone = false;

  private constructor(child: ChildProcess, version: string, onMemory: (rss: number) => void) {
    this.#child = child;
    this.version = version;
    child.on('message', (reply: EngineReply) => this.#onReply(reply, onMemory));
    this.exited = new Promise((resolve) => {
      const gone = () => {
        this.#gone = true;
        for (const { reject, timer } of this.#waiting.values()) {
          clearTimeout(timer);
          reject(new StoreUnavailable('the process of the trace engine ended'));
        }
        this.#waiting.clear();
        resolve();
      };
      if (child.exitCode !== null || child.signalCode !== null) gone();
      else child.once('exit', gone);
    });
  }

  /** Throws `EngineNotOpened`. `onMemory` hears, twice a second, how many bytes the process holds. */
  static async open(given: EngineArguments, onMemory: (rss: number) => void): Promise<EngineProcess> {
    const child = fork(MAIN, [JSON.stringify(given)], {
      serialization: 'advanced',
      execArgv: [],
      // Nothing of the service's own environment. What the engine prints is not kept: it may quote rows.
      env: { TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const version = await opened(child);
    return new EngineProcess(child, version, onMemory);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Bytes, as last heard. */
  get rss(): number {
    return this.#rss;
  }

  get busy(): boolean {
    return this.#waiting.size > 0;
  }

  /** Throws `EngineRefusal` or `StoreUnavailable`. */
  request(asked: Asked, timeoutMs: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#gone || !this.#child.connected) {
        reject(new StoreUnavailable('the process of the trace engine ended'));
        return;
      }
      this.#count += 1;
      const id = this.#count;
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new StoreUnavailable('the trace engine did not answer in time'));
        this.kill();
      }, timeoutMs);
      this.#waiting.set(id, { timer, resolve, reject });
      this.#child.send({ ...asked, id } as EngineRequest, () => {});
    });
  }

  /** SIGKILL. Nothing that was acknowledged is lost by it. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Lets the engine close its directory; a process that does not end by then is killed. */
  async close(): Promise<void> {
    if (this.#gone) return;
    const timer = setTimeout(() => this.kill(), CLOSE_MS);
    this.#child.send({ op: 'close' } satisfies EngineRequest, () => {});
    await this.exited;
    clearTimeout(timer);
  }

  #onReply(reply: EngineReply, onMemory: (rss: number) => void): void {
    if (reply.type === 'opened' || reply.type === 'failed') return;
    this.#rss = reply.rss;
    if (reply.type !== 'memory') this.#settle(reply);
    onMemory(reply.rss);
  }

  #settle(reply: Extract<EngineReply, { id: number }>): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    clearTimeout(waiting.timer);
    if (reply.type === 'answer') waiting.resolve(reply.data);
    else waiting.reject(new EngineRefusal(reply.message));
  }
}

/** The engine throws one general error when it does not open; only its printed words tell a lock from the rest. */
const LOCKED = 'Cannot lock file';

const opened = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let printed = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      printed = (printed + chunk).slice(-4096);
    });
    const finish = (error?: EngineNotOpened) => {
      clearTimeout(timer);
      child.removeListener('exit', onExit);
      child.removeListener('message', onMessage);
      if (error === undefined) return;
      child.kill('SIGKILL');
      reject(error);
    };
    const onExit = () => finish(new EngineNotOpened('broken', 'the process ended before the engine was open'));
    const onMessage = (reply: EngineReply) => {
      if (reply.type === 'failed')
        finish(new EngineNotOpened(printed.includes(LOCKED) ? 'locked' : reply.why, reply.message));
      if (reply.type !== 'opened') return;
      finish();
      resolve(reply.version);
    };
    const timer = setTimeout(() => finish(new EngineNotOpened('broken', 'the engine did not open in time')), OPEN_MS);
    child.once('error', (error) => finish(new EngineNotOpened('broken', error.message)));
    child.once('exit', onExit);
    child.on('message', onMessage);
  });
