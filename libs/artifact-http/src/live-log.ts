/**
 * The writing end of a log. Each request names its position in the stream, so that one whose answer was lost is sent
 * again and changes nothing.
 *
 * W1 A store that does not answer costs the writer no byte in silence: a bounded buffer waits for it, and what does not
 *    fit there is counted as skipped.
 * W2 While the store is away a writer is not held up by it more than once in `AWAY_MS`.
 * W3 What the store has refused for good is neither kept nor sent again: every later append hears the same.
 */
import { type Envelope, Sha256 } from '@toolfabric/contract';
import { FabricError, systemClock } from '@toolfabric/kernel';
import { type LiveLog, type StoredArtifact, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import type { HttpClient } from './http-client.ts';
import { LogQueue } from './log-queue.ts';
import { readAnswer } from './read-answer.ts';
import { repeatRequest } from './repeat-request.ts';

/** Below what the store takes at one time. */
const BATCH_BYTES = 256 * 1024;
const MOST_WAITING_BYTES = 1024 * 1024;
/** Milliseconds. */
const AWAY_MS = 2_000;
/** Three tries together stay below what a program's output may wait. */
const ANSWER_MS = 2_500;

const State = z.object({ size: z.int().nonnegative(), dropped: z.int().nonnegative() });
const Closed = z.object({ id: z.string(), size: z.int().nonnegative(), sha256: Sha256 });
const NOTHING = new Uint8Array();

export interface LogTarget {
  readonly client: HttpClient;
  readonly permit: Envelope;
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export class HttpLiveLog implements LiveLog {
  readonly #target: LogTarget;
  readonly #queue = new LogQueue();
  /** What the store has confirmed. */
  #offset: number;
  #awayUntil = 0;
  #draining: Promise<void> | undefined;
  #refused: FabricError | undefined;

  private constructor(target: LogTarget, offset: number) {
    this.#target = target;
    this.#offset = offset;
  }

  /** Opens the log, or goes on where it stands. */
  static async open(target: LogTarget): Promise<HttpLiveLog> {
    const { size, dropped } = await post(target, '?offset=0', NOTHING, State);
    return new HttpLiveLog(target, size + dropped);
  }

  get id(): string {
    return this.#target.id;
  }

  /**
   * Resolves when the bytes are stored, or wait for a store that does not answer, or are counted as skipped: it is never
   * to be repeated. Throws `FabricError` when the log cannot be written any more, and when the signal ends it.
   */
  async append(bytes: Uint8Array): Promise<void> {
    this.#target.signal.throwIfAborted();
    if (this.#refused) throw this.#refused; // W3
    if (this.#queue.bytes + bytes.byteLength > MOST_WAITING_BYTES && this.#isAway()) {
      this.#queue.skip(bytes.byteLength); // W1
      return;
    }
    // The caller may use its buffer again at once.
    if (bytes.byteLength > 0) this.#queue.push(Uint8Array.from(bytes));
    if (this.#isAway()) return; // W2
    await this.#drain().catch((thrown: unknown) => {
      if (!(thrown instanceof StoreUnavailable)) throw thrown;
    });
  }

  skip(bytes: number): void {
    if (bytes > 0 && !this.#refused) this.#queue.skip(bytes);
  }

  /** May be called again after `StoreUnavailable`. */
  async close(): Promise<StoredArtifact> {
    while (!this.#queue.isEmpty) await this.#drain();
    if (this.#refused) throw this.#refused;
    return post(this.#target, `/close?offset=${this.#offset}`, NOTHING, Closed);
  }

  #isAway(): boolean {
    return systemClock.monotonic() < this.#awayUntil;
  }

  /** One at a time: what comes meanwhile goes out with the next request. */
  #drain(): Promise<void> {
    this.#draining ??= this.#sendAll().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #sendAll(): Promise<void> {
    while (!this.#queue.isEmpty) {
      const batch = this.#queue.peek(BATCH_BYTES);
      try {
        await post(this.#target, `?offset=${this.#offset}&skip=${batch.skip}`, batch.bytes, State);
      } catch (thrown) {
        const isAway = thrown instanceof StoreUnavailable || isOverloaded(thrown);
        if (!isAway) throw this.#giveUp(thrown);
        this.#awayUntil = systemClock.monotonic() + AWAY_MS;
        throw new StoreUnavailable('the artifact store does not take the log', { cause: thrown });
      }
      this.#offset += batch.bytes.byteLength + batch.skip;
      this.#queue.confirm(batch);
    }
  }

  #giveUp(thrown: unknown): unknown {
    if (thrown instanceof FabricError) {
      this.#refused = thrown;
      this.#queue.clear();
    }
    return thrown;
  }
}

const isOverloaded = (thrown: unknown): boolean => thrown instanceof FabricError && thrown.type === 'overloaded';

const post = <T>(target: LogTarget, rest: string, body: Uint8Array, schema: z.ZodType<T>): Promise<T> => {
  const { client, permit, id, headers, signal } = target;
  const path = `/v1/logs/${id}${rest}`;
  return repeatRequest(async () => {
    const answer = await client.send({ method: 'POST', path, permit, headers, body, signal, answerMs: ANSWER_MS });
    return readAnswer(answer, schema, signal);
  }, signal);
};
