import type { Clock, Logger, Metrics } from '@toolfabric/kernel';
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

export interface EventTakerDeps {
  readonly writer: BatchWriter;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const LOG_EVERY_MS = 1_000;

/** Takes events off the bus, each acknowledged when its rows are stored or when it can never become any. */
export class EventTaker {
  readonly #deps: EventTakerDeps;
  readonly #invalid: Record<string, number> = {};
  #delayMs = 0;
  #logAgainAt = 0;

  constructor(deps: EventTakerDeps) {
    this.#deps = deps;
  }

  get counts(): TakenCounts {
    return { invalid: { ...this.#invalid }, delayMs: this.#delayMs };
  }

  /** Rejects, without an acknowledgement, when the rows could not be stored. */
  async take(delivery: Delivery): Promise<void> {
    const { writer, retention, clock, metrics } = this.#deps;
    const event = readEvent(delivery.subject, delivery.data, clock.now());
    if (typeof event === 'string') {
      this.#invalid[event] = (this.#invalid[event] ?? 0) + 1;
      metrics.count('toolfabric_trace_events_total', { outcome: event });
      this.#logInvalid(event, delivery.subject);
    } else {
      await writer.add(rowsOf(event, retention));
      this.#delayMs = Math.max(0, clock.now() - event.at);
    }
    delivery.ack();
  }

  /** Seldom: whoever sends many must not fill the log. */
  #logInvalid(reason: string, subject: string): void {
    const { clock, log } = this.#deps;
    const now = clock.monotonic();
    if (now < this.#logAgainAt) return;
    this.#logAgainAt = now + LOG_EVERY_MS;
    log.warn('event.invalid', { reason, service: subject.split('.')[1], soFar: this.#invalid[reason] });
  }
}
