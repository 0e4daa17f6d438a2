import type { FabricEvent, ResultMessage } from '@toolfabric/contract';
import { RevisionConflict, type Store, type Versioned } from '@toolfabric/ports';
import type { Scheduler } from './scheduler.ts';
import type { SimProcess } from './sim-process.ts';

/** One bucket of the simulated server. Whoever wants to know is told of each write. */
export class SimBucket<T> {
  readonly values = new Map<string, Versioned<T>>();
  #revision = 0;
  readonly #onWrite: (key: string, before: T | undefined, after: T) => void;

  readonly #isBlind: boolean;

  constructor(onWrite: (key: string, before: T | undefined, after: T) => void = () => {}, isBlind = false) {
    this.#onWrite = onWrite;
    this.#isBlind = isBlind;
  }

  write(key: string, value: T, expected: number): number {
    const before = this.values.get(key);
    if (!this.#isBlind && (before?.revision ?? 0) !== expected) throw new RevisionConflict(key);
    this.#revision += 1;
    this.values.set(key, { value: structuredClone(value), revision: this.#revision });
    this.#onWrite(key, before?.value, value);
    return this.#revision;
  }

  /** The bucket as one process reaches it. */
  through(process: SimProcess): Store<T> {
    const read = (key: string) => structuredClone(this.values.get(key));
    return {
      get: (key) => process.request(() => read(key)),
      create: (key, value) => process.request(() => this.write(key, value, 0)),
      update: (key, value, revision) => process.request(() => this.write(key, value, revision)),
      remove: (key, revision) =>
        process.request(() => this.values.get(key)?.revision === revision && this.values.delete(key)),
      keys: (prefix) => process.request(() => [...this.values.keys()].filter((key) => key.startsWith(`${prefix}.`))),
      lastRevision: () => process.request(() => this.#revision),
    };
  }
}

interface StreamMessage {
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
  deliveries: number;
  /** Simulated time at which it may be delivered (again). */
  readyAt: number;
}

export interface SimConsumer {
  readonly process: SimProcess;
  free(): boolean;
  /** A message to a pin slot goes to whoever takes that slot's work. */
  wants(subject: string): boolean;
  take(message: { subject: string; data: Uint8Array; sequence: number; deliveryCount: number }): void;
}

/** A stream with one shared consumer: at least once, out of order, sometimes twice at the same time. */
export class SimStream {
  readonly messages = new Map<number, StreamMessage>();
  readonly consumers = new Set<SimConsumer>();
  readonly #scheduler: Scheduler;
  readonly #ackWaitMs: number;
  readonly #capacity: number;
  readonly #ids = new Map<string, { sequence: number; at: number }>();
  #sequence = 0;

  constructor(scheduler: Scheduler, ackWaitMs: number, capacity: number) {
    this.#scheduler = scheduler;
    this.#ackWaitMs = ackWaitMs;
    this.#capacity = capacity;
  }

  get isFull(): boolean {
    return this.messages.size >= this.#capacity;
  }

  publish(subject: string, data: Uint8Array, id?: string): { sequence: number; duplicate: boolean } {
    const seen = id === undefined ? undefined : this.#ids.get(id);
    if (seen && this.#scheduler.now - seen.at < 30_000) return { sequence: seen.sequence, duplicate: true };
    this.#sequence += 1;
    const sequence = this.#sequence;
    if (id !== undefined) this.#ids.set(id, { sequence, at: this.#scheduler.now });
    this.messages.set(sequence, { sequence, subject, data, deliveries: 0, readyAt: this.#scheduler.now });
    this.#offer(sequence);
    return { sequence, duplicate: false };
  }

  has(sequence: number): boolean {
    return this.messages.has(sequence);
  }

  remove(sequence: number, subject: string): boolean {
    return this.messages.get(sequence)?.subject === subject && this.messages.delete(sequence);
  }

  acknowledge(sequence: number): void {
    this.messages.delete(sequence);
  }

  delay(sequence: number, ms: number): void {
    const message = this.messages.get(sequence);
    if (!message) return;
    message.readyAt = this.#scheduler.now + ms;
    this.#offer(sequence, ms);
  }

  #offer(sequence: number, afterMs = 0): void {
    this.#scheduler.after(afterMs + this.#scheduler.random.between(0.1, 20), () => this.#deliver(sequence));
  }

  #deliver(sequence: number): void {
    const message = this.messages.get(sequence);
    if (!message) return;
    const now = this.#scheduler.now;
    if (message.readyAt > now) return this.#offer(sequence, message.readyAt - now);
    const free = [...this.consumers].filter(
      (consumer) => consumer.process.alive && consumer.free() && consumer.wants(message.subject),
    );
    if (free.length === 0) return this.#offer(sequence, 300);
    const { random } = this.#scheduler;
    const times = random.chance(0.05) ? 2 : 1;
    message.readyAt = now + this.#ackWaitMs;
    for (let i = 0; i < times; i += 1) {
      message.deliveries += 1;
      const consumer = random.pick(free);
      const copy = { subject: message.subject, data: message.data, sequence, deliveryCount: message.deliveries };
      this.#scheduler.after(random.between(0.1, 15), () => consumer.process.deliver(() => consumer.take(copy)));
    }
    this.#offer(sequence, this.#ackWaitMs);
  }
}

/** Everything that the server of one simulated kind remembers beside its buckets. */
export interface SimJournal {
  readonly results: Map<string, ResultMessage>;
  readonly events: Map<string, FabricEvent>;
  readonly dead: Set<number>;
}
