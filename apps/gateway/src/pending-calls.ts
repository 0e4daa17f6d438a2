/**
 * Who waits for which call.
 *
 * P1 News of a call goes only to those who asked as the actor that owns it: the actor is part of the key.
 * P2 The settled notice is lossy: each call with a listener is also asked for, once every `pollMs`.
 * P3 Bounded: at most `limit` listeners, at most `POLLS_AT_ONCE` questions in flight.
 */
import type { Actor, CallView, SettledNotice } from '@toolfabric/contract';

const POLLS_AT_ONCE = 64;

export interface CallListener {
  onView(view: CallView): void;
  /** The router refused the question; a router that does not answer is not told. */
  onFailure(error: unknown): void;
  /** This gateway stops. */
  onDrain(): void;
}

interface Group {
  readonly actor: Actor;
  readonly callId: string;
  readonly listeners: Set<CallListener>;
  readonly timer: NodeJS.Timeout;
  asking: boolean;
}

export interface PendingCallsConfig {
  readonly pollMs: number;
  readonly limit: number;
  /** Resolves with undefined when no router answered. */
  getCall(actor: Actor, callId: string): Promise<CallView | undefined>;
}

const keyOf = (actor: Actor, callId: string): string => JSON.stringify([callId, actor.tenant, actor.user, actor.agent]);

export class PendingCalls {
  readonly #config: PendingCallsConfig;
  readonly #groups = new Map<string, Group>();
  #listening = 0;
  #asking = 0;

  constructor(config: PendingCallsConfig) {
    this.#config = config;
  }

  get size(): number {
    return this.#listening;
  }

  /** Returns the way to stop listening, or undefined when the bound is reached (P3). */
  listen(actor: Actor, callId: string, listener: CallListener): (() => void) | undefined {
    if (this.#listening >= this.#config.limit) return undefined;
    const key = keyOf(actor, callId);
    const group = this.#groups.get(key) ?? this.#open(key, actor, callId);
    group.listeners.add(listener);
    this.#listening += 1;
    return () => {
      if (!group.listeners.delete(listener)) return;
      this.#listening -= 1;
      if (group.listeners.size > 0) return;
      clearInterval(group.timer);
      this.#groups.delete(key);
    };
  }

  onSettled({ actor, view }: SettledNotice): void {
    const group = this.#groups.get(keyOf(actor, view.callId)); // P1
    if (group !== undefined) tell(group, (listener) => listener.onView(view));
  }

  drain(): void {
    for (const group of this.#groups.values()) tell(group, (listener) => listener.onDrain());
  }

  #open(key: string, actor: Actor, callId: string): Group {
    const timer = setInterval(() => void this.#poll(group), this.#config.pollMs);
    const group: Group = { actor, callId, listeners: new Set(), timer, asking: false };
    this.#groups.set(key, group);
    return group;
  }

  /** P2. Never rejects. */
  async #poll(group: Group): Promise<void> {
    if (group.asking || this.#asking >= POLLS_AT_ONCE) return;
    group.asking = true;
    this.#asking += 1;
    try {
      const view = await this.#config.getCall(group.actor, group.callId);
      if (view !== undefined) tell(group, (listener) => listener.onView(view));
    } catch (error) {
      tell(group, (listener) => listener.onFailure(error));
    } finally {
      group.asking = false;
      this.#asking -= 1;
    }
  }
}

/** A listener may stop listening while it is told. */
const tell = (group: Group, how: (listener: CallListener) => void): void => {
  for (const listener of [...group.listeners]) how(listener);
};
