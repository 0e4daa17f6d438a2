import type { Actor, CallRecord } from '@toolfabric/contract';
import { limitsOf, type QuotaConfig, type RouterShare, sliceOf } from '@toolfabric/governance';
import { type Clock, FabricError } from '@toolfabric/kernel';
import type { ApprovalBook, BookEntry } from './approval-book.ts';

/** When a person may have answered one of them. */
const COME_AGAIN_MS = 5_000;
/** A question that was let in and is not stored after so long never will be. */
const LOST_AFTER_MS = 30_000;

export interface WaitingDeps {
  readonly book: ApprovalBook;
  readonly config: QuotaConfig;
  readonly clock: Clock;
  readonly share: () => RouterShare;
}

interface Entered {
  readonly actor: Actor;
  /** On the monotonic clock. */
  readonly at: number;
}

const isActor = (a: Actor, b: Actor): boolean => a.user === b.user && a.agent === b.agent;

/**
 * How many calls of one tenant, and of one actor, may wait for a person (RT-6). What waits is read from the stored
 * approvals, so that no counter can be lost; each living router may let in its slice of what is left (protocol 10).
 */
export class WaitingApprovals {
  readonly #deps: WaitingDeps;
  /** Let in by this router and not yet seen among the stored ones, by the id of the approval. */
  readonly #entered = new Map<string, Entered>();

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
  }

  /**
   * Throws `rate_limited` with the time to wait, or `StoreUnavailable`. A question that is stored already is in; one
   * that takes the place of another needs no more room than that had.
   */
  async enter({ actor, approvalId }: Pick<CallRecord, 'actor' | 'approvalId'>, inPlaceOf?: string): Promise<void> {
    const { book, config, clock } = this.#deps;
    if (approvalId === undefined) return;
    await book.refresh();
    if (book.knows(actor.tenant, approvalId)) return;
    this.#forget();
    const stored = book.waitingOf(actor.tenant).filter((entry) => entry.approvalId !== inPlaceOf);
    const entered = [...this.#entered].filter(([id, one]) => id !== approvalId && one.actor.tenant === actor.tenant);
    const { approvals, approvalsPerActor } = limitsOf(config, actor.tenant);
    this.#check('this tenant', approvals, stored, entered.length);
    const isIts = (one: { readonly actor: Actor }) => isActor(one.actor, actor);
    const its = entered.filter(([, one]) => isIts(one)).length;
    this.#check('this agent and user', approvalsPerActor, stored.filter(isIts), its);
    this.#entered.set(approvalId, { actor, at: clock.monotonic() });
  }

  /** No question came of it. */
  leave(approvalId: string): void {
    this.#entered.delete(approvalId);
  }

  #check(whose: string, most: number, stored: readonly BookEntry[], entered: number): void {
    if (entered < sliceOf(most, stored.length, this.#deps.share())) return;
    throw new FabricError('rate_limited', `${most} calls of ${whose} may wait for a person, and ${stored.length} do`, {
      retryAfterMs: COME_AGAIN_MS,
    });
  }

  #forget(): void {
    const { book, clock } = this.#deps;
    const before = clock.monotonic() - LOST_AFTER_MS;
    for (const [id, { actor, at }] of this.#entered)
      if (at < before || book.knows(actor.tenant, id)) this.#entered.delete(id);
  }
}
