import type { Msg, Subscription } from '@nats-io/transport-node';
import { PulledDelivery } from './delivery.ts';
import type { BusLink } from './link.ts';

/** Why a pull ended without a message. `empty` is an answer; `trouble` asks for a pause. */
export type PullEnd = 'empty' | 'trouble';

export interface PullGroupOptions {
  readonly user: string;
  /** The subject that asks this consumer for messages. */
  readonly nextSubject: string;
  /** Milliseconds that a pull waits at the server; absent means that it never waits. */
  readonly expiresMs?: number;
  onDelivery(delivery: PulledDelivery): void;
  onEnd(end: PullEnd): void;
}

/** How much longer than the server one waits for the end of a pull. */
const GRACE_MS = 1_000;
/** Longest wait for the answer to a pull that does not wait. */
const ANSWER_MS = 2_000;

/**
 * Pulls of one sort on one consumer. A message does not say which pull it answers (its subject is its own), so the
 * oldest counts as answered; a status names its pull. Only the number matters, and lost ones fall out by time.
 */
export class PullGroup {
  readonly #link: BusLink;
  readonly #options: PullGroupOptions;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  /** By token, oldest first: messages still expected, and when to give up (monotonic milliseconds). */
  readonly #pulls = new Map<string, { left: number; until: number }>();
  #expected = 0;
  #count = 0;

  constructor(link: BusLink, options: PullGroupOptions) {
    this.#link = link;
    this.#options = options;
    this.#inbox = link.newInbox(options.user);
    this.#subscription = link.subscribe(`${this.#inbox}*`, (message) => this.#onMessage(message));
  }

  /** Messages that were asked for and have neither come nor been refused. */
  get expected(): number {
    return this.#expected;
  }

  pull(batch: number): void {
    const { expiresMs, nextSubject } = this.#options;
    this.#count += 1;
    const token = this.#count.toString(36);
    const until = performance.now() + (expiresMs === undefined ? ANSWER_MS : expiresMs + GRACE_MS);
    this.#pulls.set(token, { left: batch, until });
    this.#expected += batch;
    const body = expiresMs === undefined ? { batch, no_wait: true } : { batch, expires: expiresMs * 1_000_000 };
    this.#link.publish(nextSubject, JSON.stringify(body), { reply: this.#inbox + token });
  }

  /** Forgets every pull: after a new connection none of them counts. */
  forget(): void {
    this.#pulls.clear();
    this.#expected = 0;
  }

  /** Drops pulls whose end was lost; true when there were some. */
  dropOverdue(): boolean {
    const now = performance.now();
    let dropped = false;
    for (const [token, { until }] of this.#pulls) {
      if (until > now) continue;
      this.#end(token);
      dropped = true;
    }
    return dropped;
  }

  /** The server forgets the pulls at once; what is on its way is still handed on. Resolves when nothing can come. */
  async close(): Promise<void> {
    await this.#subscription.drain().catch(() => {});
    this.forget();
  }

  #onMessage(message: Msg): void {
    const code = message.headers?.code ?? 0;
    if (code !== 0 && message.data.length === 0) {
      this.#end(message.subject.slice(this.#inbox.length));
      this.#options.onEnd(code === 404 || code === 408 ? 'empty' : 'trouble');
    } else if (message.reply !== undefined && message.reply !== '') {
      this.#countOne();
      this.#options.onDelivery(new PulledDelivery(this.#link, message, message.reply));
    }
  }

  #countOne(): void {
    for (const [token, pull] of this.#pulls) {
      pull.left -= 1;
      this.#expected -= 1;
      if (pull.left === 0) this.#pulls.delete(token);
      return;
    }
  }

  #end(token: string): void {
    const pull = this.#pulls.get(token);
    if (pull === undefined) return;
    this.#pulls.delete(token);
    this.#expected -= pull.left;
  }
}
