import type { Clock, Logger, Metrics } from '@toolfabric/kernel';
import { type EventRows, RowsRejected, type TraceStore } from '@toolfabric/trace-clickhouse';

export interface BatchLimits {
  /** Events of one insert. */
  readonly events: number;
  /** Bytes of one insert. */
  readonly bytes: number;
  /** Milliseconds that an event waits for others. */
  readonly lingerMs: number;
  /** Bytes that may be held, in batches that wait and in the one that is being inserted. */
  readonly heldBytes: number;
}

export interface BatchWriterDeps {
  readonly store: Pick<TraceStore, 'insert'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export const BATCH_LIMITS: BatchLimits = {
  events: 5_000,
  bytes: 4 * 1024 * 1024,
  lingerMs: 200,
  heldBytes: 24 * 1024 * 1024,
};

interface Held {
  readonly rows: EventRows;
  /** Ends the wait of whoever brought the event; with an error it is not acknowledged. */
  settle(error?: Error): void;
}

export interface WriterCounts {
  readonly stored: number;
  /** Events whose rows the store refused for good. */
  readonly rejected: number;
  readonly batches: number;
  /** Inserts that were tried again. */
  readonly retries: number;
  readonly heldEvents: number;
  readonly heldBytes: number;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Rows in, batches out.
 *
 * Invariants. (1) One insert at a time. (2) An event ends well only when its rows are stored, or refused for good.
 * (3) While the store is away nothing new has room; what is held is tried again until the writer is stopped.
 */
export class BatchWriter {
  readonly #store: BatchWriterDeps['store'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #limits: BatchLimits;
  readonly #stop = new AbortController();
  #waiting: Held[] = [];
  #waitingBytes = 0;
  #insertingEvents = 0;
  #insertingBytes = 0;
  #away = false;
  #draining = false;
  #woken = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  #stored = 0;
  #rejected = 0;
  #batches = 0;
  #retries = 0;

  constructor({ store, clock, log, metrics }: BatchWriterDeps, limits: BatchLimits = BATCH_LIMITS) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#metrics = metrics;
    this.#limits = limits;
    this.#running = this.#run();
  }

  get counts(): WriterCounts {
    return {
      stored: this.#stored,
      rejected: this.#rejected,
      batches: this.#batches,
      retries: this.#retries,
      heldEvents: this.#waiting.length + this.#insertingEvents,
      heldBytes: this.#heldBytes,
    };
  }

  hasRoom(): boolean {
    return !this.#away && !this.#draining && this.#heldBytes < this.#limits.heldBytes;
  }

  /** Resolves when the rows are stored; rejects when the writer stopped before that. */
  add(rows: EventRows): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#stop.signal.aborted) {
        reject(new Error('the trace writer is stopped'));
        return;
      }
      this.#waiting.push({ rows, settle: (error) => (error === undefined ? resolve() : reject(error)) });
      this.#waitingBytes += rows.bytes;
      if (this.#waiting.length === 1 || this.#isFull) this.#wake();
    });
  }

  /** Inserts what is held, within `ms` milliseconds; what is left then ends without being stored. Safe to call twice. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#wake();
    const late = this.#clock.sleep(ms, this.#stop.signal).then(() => {
      this.#stop.abort();
      this.#wake();
    });
    await this.#running;
    this.#stop.abort();
    await late;
  }

  get #heldBytes(): number {
    return this.#waitingBytes + this.#insertingBytes;
  }

  get #isFull(): boolean {
    return this.#waiting.length >= this.#limits.events || this.#waitingBytes >= this.#limits.bytes;
  }

  #wake(): void {
    const { resolve } = this.#woken;
    this.#woken = Promise.withResolvers<void>();
    resolve();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (this.#waiting.length === 0) {
        if (this.#draining) return;
        await this.#woken.promise;
        continue;
      }
      await this.#linger();
      const batch = this.#take();
      await this.#write(batch);
    }
    for (const held of this.#waiting.splice(0)) held.settle(new Error('the trace writer is stopped'));
    this.#waitingBytes = 0;
  }

  /** Waits until the batch is full or its first event has waited long enough. */
  async #linger(): Promise<void> {
    const until = this.#clock.monotonic() + this.#limits.lingerMs;
    while (!this.#isFull && !this.#draining && !this.#stop.signal.aborted) {
      const left = until - this.#clock.monotonic();
      if (left <= 0) return;
      const over = new AbortController();
      await Promise.race([this.#woken.promise, this.#clock.sleep(left, over.signal)]);
      over.abort();
    }
  }

  #take(): Held[] {
    let bytes = 0;
    let count = 0;
    for (const { rows } of this.#waiting) {
      if (count >= this.#limits.events || (count > 0 && bytes + rows.bytes > this.#limits.bytes)) break;
      bytes += rows.bytes;
      count += 1;
    }
    this.#waitingBytes -= bytes;
    this.#insertingBytes = bytes;
    this.#insertingEvents = count;
    return this.#waiting.splice(0, count);
  }

  async #write(batch: readonly Held[]): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#store.insert(batch.map(({ rows }) => rows));
        if (this.#away) this.#log.info('store.back');
        this.#away = false;
        this.#batches += 1;
        this.#stored += batch.length;
        this.#metrics.count('toolfabric_trace_inserts_total', { outcome: 'stored' });
        this.#metrics.count('toolfabric_trace_events_total', { outcome: 'stored' }, batch.length);
        this.#settle(batch);
        return;
      } catch (error) {
        if (error instanceof RowsRejected) return this.#divide(batch);
        if (!this.#away) this.#log.warn('store.away', { reason: error instanceof Error ? error.message : '' });
        this.#away = true;
        this.#retries += 1;
        this.#metrics.count('toolfabric_trace_inserts_total', { outcome: 'repeated' });
        await this.#clock.sleep(pauseMs, this.#stop.signal);
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      }
    }
    this.#settle(batch, new Error('the trace writer is stopped'));
  }

  #settle(batch: readonly Held[], error?: Error): void {
    this.#insertingEvents -= batch.length;
    for (const held of batch) {
      this.#insertingBytes -= held.rows.bytes;
      held.settle(error);
    }
  }

  /** Finds the one event that the store never takes, so that the others of its batch are stored. */
  async #divide(batch: readonly Held[]): Promise<void> {
    this.#metrics.count('toolfabric_trace_inserts_total', { outcome: 'rejected' });
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      await this.#write(batch.slice(0, half));
      await this.#write(batch.slice(half));
      return;
    }
    this.#rejected += 1;
    this.#metrics.count('toolfabric_trace_events_total', { outcome: 'rejected' });
    this.#log.warn('event.rejected');
    this.#settle(batch);
  }
}
