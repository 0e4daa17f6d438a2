import type { Clock, Logger } from '@toolfabric/kernel';
import type { Delivery } from '@toolfabric/ports';
import { type Retention, rowsOf } from '@toolfabric/trace-clickhouse';
import type { BatchWriter } from './batch-writer.ts';
import { readEvent } from './read-event.ts';

export interface TakenCounts {
  /** Events that were not taken, by the reason. */
  readonly invalid: Readonly<Record<string, number>>;
  /** Milliseconds between the event and its row, of the newest event that was stored. */
  readonly delayMs: number;
}

const LOG_EVERY_MS = 1_000;

/** Takes events off the bus, each acknowledged when its rows are stored or when it can never become any. */
export class EventTaker {
  readonly #writer: BatchWriter;
  readonly #retention: Retention;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #invalid: Record<string, number> = {};
  #delayMs = 0;
  #logAgainAt = 0;

  constructor(writer: BatchWriter, retention: Retention, clock: Clock, log: Logger) {
    this.#writer = writer;
    this.#retention = retention;
    this.#clock = clock;
    this.#log = log;
  }

  get counts(): TakenCounts {
    return { invalid: { ...this.#invalid }, delayMs: this.#delayMs };
  }

  /** Rejects, without an acknowledgement, when the rows could not be stored. */
  async take(delivery: Delivery): Promise<void> {
    const event = readEvent(delivery.subject, delivery.data, this.#clock.now());
    if (typeof event === 'string') {
      this.#invalid[event] = (this.#invalid[event] ?? 0) + 1;
      this.#logInvalid(event, delivery.subject);
    } else {
      await this.#writer.add(rowsOf(event, this.#retention));
      this.#delayMs = Math.max(0, this.#clock.now() - event.at);
    }
    delivery.ack();
  }

  /** Seldom: whoever sends many must not fill the log. */
  #logInvalid(reason: string, subject: string): void {
    const now = this.#clock.monotonic();
    if (now < this.#logAgainAt) return;
    this.#logAgainAt = now + LOG_EVERY_MS;
    this.#log.warn('event.invalid', { reason, service: subject.split('.')[1], soFar: this.#invalid[reason] });
  }
}
