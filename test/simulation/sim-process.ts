import type { Clock } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import type { Scheduler } from './scheduler.ts';

export interface Network {
  /** Probability that a request is lost on the way to the server. */
  readonly lostRequest: number;
  /** Probability that it is carried out, but its answer is lost. */
  readonly lostReply: number;
  /** Milliseconds one way, at most. */
  readonly delayMs: number;
  /** Milliseconds after which an unanswered request fails. */
  readonly timeoutMs: number;
  /** Whether the server answers at all at the moment. */
  isUp(): boolean;
}

/**
 * A process of the simulation. When it is killed nothing of it runs on: no promise that it waits for is resolved any
 * more, while requests that were on their way still arrive. When it is paused everything waits for the resume.
 */
export class SimProcess {
  alive = true;
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #network: Network;
  readonly #skewMs: number;
  #paused = false;
  #waiting: (() => void)[] = [];

  constructor(name: string, scheduler: Scheduler, network: Network, skewMs: number) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#network = network;
    this.#skewMs = skewMs;
  }

  kill(): void {
    this.alive = false;
    this.#waiting = [];
  }

  pause(forMs: number): void {
    if (this.#paused || !this.alive) return;
    this.#paused = true;
    this.#scheduler.after(forMs, () => {
      this.#paused = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const run of waiting) this.deliver(run);
    });
  }

  /** Runs `run` inside the process: now, after its pause, or never. */
  deliver(run: () => void): void {
    if (!this.alive) return;
    if (this.#paused) this.#waiting.push(run);
    else run();
  }

  /** One request to the server and its answer, each of which may be late or lost. */
  request<T>(serve: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.alive) return;
      if (this.#paused) return void this.#waiting.push(() => this.request(serve).then(resolve, reject));
      const { random } = this.#scheduler;
      const { lostRequest, lostReply, delayMs, timeoutMs } = this.#network;
      const fail = () => this.deliver(() => reject(new StoreUnavailable('no answer')));
      if (random.chance(lostRequest)) return this.#scheduler.after(timeoutMs, fail);
      const answerIsLost = random.chance(lostReply);
      this.#scheduler.after(random.between(0.1, delayMs), () => {
        if (!this.#network.isUp()) return this.#scheduler.after(timeoutMs, fail);
        let answer: () => void;
        try {
          const value = serve();
          answer = () => resolve(value);
        } catch (thrown) {
          answer = () => reject(thrown);
        }
        if (answerIsLost) return this.#scheduler.after(timeoutMs, fail);
        this.#scheduler.after(random.between(0.1, delayMs), () => this.deliver(answer));
      });
    });
  }

  /** One message to the server that nobody answers. */
  send(serve: () => void): void {
    if (!this.alive) return;
    if (this.#paused) return void this.#waiting.push(() => this.send(serve));
    const { random } = this.#scheduler;
    if (random.chance(this.#network.lostRequest)) return;
    this.#scheduler.after(random.between(0.1, this.#network.delayMs), () => {
      if (this.#network.isUp()) serve();
    });
  }

  readonly clock: Clock = {
    now: () => Math.floor(1_796_000_000_000 + this.#scheduler.now + this.#skewMs),
    monotonic: () => this.#scheduler.now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!this.alive) return;
        if (signal?.aborted) return resolve();
        let over = false;
        const end = () => {
          if (over) return;
          over = true;
          resolve();
        };
        this.#scheduler.after(ms, () => this.deliver(end));
        signal?.addEventListener('abort', end, { once: true });
      }),
  };
}
