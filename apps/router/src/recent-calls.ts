import type { CallRecord, OpenEntry } from '@toolfabric/contract';
import type { Versioned } from '@toolfabric/ports';

export interface Recent {
  readonly call: Versioned<CallRecord>;
  readonly openRevision: number;
  /** The work message that this router published, as yet unknown to the OPEN entry. */
  readonly sent?: NonNullable<OpenEntry['sent']>;
}

/**
 * Bounded memory of the calls that this router accepted. A stale entry costs one lost compare-and-set and a read,
 * nothing else.
 */
export class RecentCalls {
  readonly #entries = new Map<string, Recent>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(callId: string): Recent | undefined {
    return this.#entries.get(callId);
  }

  set(callId: string, recent: Recent): void {
    this.#entries.set(callId, recent);
    if (this.#entries.size <= this.#most) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }

  delete(callId: string): void {
    this.#entries.delete(callId);
  }
}
