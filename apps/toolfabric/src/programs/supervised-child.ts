/**
 * A child process that is kept running.
 *
 * S1 One that ends is started again, with growing pauses; after too many ends in a row it is given up.
 * S2 Once it is to stop, none is started, and none is left.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { FabricError, type Logger, systemClock } from '@toolfabric/kernel';

export interface Supervised {
  /** As errors and logs call it. */
  readonly name: string;
  /** Where its output goes. */
  readonly logFile: string;
  /** Starts one; `isFirst` is false where one ended before. */
  readonly begin: (isFirst: boolean) => Promise<ChildProcess>;
  readonly answers: () => Promise<boolean>;
  readonly lastWords: () => string;
  readonly logger: Logger;
}

const READY_MS = 30_000;
const STOP_MS = 10_000;
const MAX_ENDS = 6;
/** One that ran for so long has earned a fresh count. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 200;
const LOOK_MS = 20;

const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

export class SupervisedChild {
  /** Why it was given up (S1). */
  readonly failed: Promise<string>;
  readonly #options: Supervised;
  #fail: (reason: string) => void = () => {};
  #child: ChildProcess | undefined;
  #stopping = false;
  #ends = 0;

  constructor(options: Supervised) {
    this.#options = options;
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
  }

  /** Throws `unavailable` when it does not answer in time. */
  async start(): Promise<void> {
    const child = await this.#options.begin(this.#ends === 0);
    this.#child = child;
    const startedAt = systemClock.monotonic();
    child.once('error', () => {});
    child.once('exit', (code, signal) => {
      // Lets a shell guard whose shell was killed end the program as well.
      child.stdio[3]?.destroy();
      void this.#onEnd(startedAt, signal ?? `code ${code}`);
    });
    await this.#untilAnswered(child);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  async #untilAnswered(child: ChildProcess): Promise<void> {
    const { name, answers, lastWords } = this.#options;
    const until = systemClock.monotonic() + READY_MS;
    while (!(await answers())) {
      if (hasEnded(child) || systemClock.monotonic() > until) {
        throw new FabricError('unavailable', `${name} did not start: ${lastWords()}`);
      }
      await systemClock.sleep(LOOK_MS);
    }
  }

  async #onEnd(startedAt: number, how: string): Promise<void> {
    if (this.#stopping) return;
    const { name, logFile, logger } = this.#options;
    if (systemClock.monotonic() - startedAt > STEADY_MS) this.#ends = 0;
    this.#ends += 1;
    logger.error('child_ended', { name, how, ends: this.#ends });
    if (this.#ends >= MAX_ENDS) return this.#fail(`${name} ended ${MAX_ENDS} times; see ${logFile}`); // S1
    await systemClock.sleep(FIRST_PAUSE_MS * 2 ** (this.#ends - 1));
    if (this.#stopping) return;
    const last = this.#child;
    await this.start().catch((error: unknown) => {
      // A child that came up and ended is counted by its own end.
      if (this.#child === last) return this.#onEnd(systemClock.monotonic(), String(error));
    });
    // S2: a stop that came while it started did not see this child.
    if (this.#stopping) await this.stop();
  }
}
