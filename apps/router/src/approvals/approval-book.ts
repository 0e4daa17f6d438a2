import type { Actor, ApprovalRecord, ApprovalState } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import { approvalKey, isApprovalOver, openKey } from '@toolfabric/ledger';
import type { Changed } from '@toolfabric/ports';

/** Answered approvals that are remembered, for whoever follows. */
const MOST_ANSWERED = 2_000;
/** Even a call that rests is looked at after so long, in milliseconds: its router may have died between two steps. */
const LOOK_EVERY_MS = 60_000;

/**
 * So long after its time is over an approval is no longer stored, in milliseconds; what is removed tells nobody. One that
 * was never answered would stay here for ever, and stand before those that are to be told.
 */
const GONE_MS = 86_400_000;

/** What a listing chooses by; the record itself is read when it is shown. */
export interface BookEntry {
  readonly approvalId: string;
  readonly callId: string;
  readonly actor: Actor;
  readonly state: ApprovalState;
  readonly resource?: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly told?: ApprovalState;
  /** Of its last change. */
  readonly revision: number;
}

const entryOf = (approval: ApprovalRecord, revision: number): BookEntry => {
  const { approvalId, callId, actor, state, resource, createdAt = 0, expiresAt, told } = approval;
  const known = { ...(resource === undefined ? {} : { resource }), ...(told === undefined ? {} : { told }) };
  return { approvalId, callId, actor, state, createdAt, expiresAt, revision, ...known };
};

type Next = (revision: number) => Promise<Changed<ApprovalRecord> | undefined>;

/**
 * Every approval that is waited for, as this router has seen it last: who lists, follows or sweeps thousands of them
 * reads none. It decides nothing: whatever is decided is decided on the stored record.
 */
export class ApprovalBook {
  readonly #next: Next;
  readonly #clock: Clock;
  readonly #open = new Map<string, BookEntry>();
  /** Those that are pending, by tenant. */
  readonly #waiting = new Map<string, Map<string, BookEntry>>();
  /** The oldest first. */
  readonly #answered = new Map<string, BookEntry>();
  /** By the key of the OPEN entry: since when nobody looked. */
  readonly #resting = new Map<string, { entry: BookEntry; lookedAt: number }>();
  #revision = 0;
  #forgotAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(next: Next, clock: Clock) {
    this.#next = next;
    this.#clock = clock;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Waits for a yes: pending ones, by age. */
  get pending(): BookEntry[] {
    const now = this.#clock.now();
    const waits = (entry: BookEntry) => entry.state === 'pending' && !isApprovalOver(entry, now);
    return [...this.#open.values()].filter(waits).sort(byAge);
  }

  /** Those of one tenant that a person is asked about now. */
  waitingOf(tenant: string): BookEntry[] {
    const now = this.#clock.now();
    return [...(this.#waiting.get(tenant)?.values() ?? [])].filter((entry) => !isApprovalOver(entry, now));
  }

  /** Whether it was stored, as far as this router has read. */
  knows(tenant: string, approvalId: string): boolean {
    const key = approvalKey(tenant, approvalId);
    return this.#open.has(key) || this.#answered.has(key);
  }

  get all(): BookEntry[] {
    return [...this.#open.values(), ...this.#answered.values()];
  }

  /** Reads on to the newest change; two at once read together. */
  refresh(): Promise<void> {
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  isResting(key: string): boolean {
    const seen = this.#resting.get(key);
    if (seen === undefined || isApprovalOver(seen.entry, this.#clock.now())) return false;
    const now = this.#clock.monotonic();
    if (now - seen.lookedAt < LOOK_EVERY_MS) return true;
    seen.lookedAt = now;
    return false;
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const changed = await this.#next(this.#revision);
      if (changed === undefined) return this.#forget();
      if (changed.value !== undefined) this.#put(changed.key, entryOf(changed.value, changed.revision));
      this.#revision = changed.revision;
    }
  }

  /** What nobody can use any more, at most once a minute. */
  #forget(): void {
    if (this.#clock.monotonic() - this.#forgotAt < LOOK_EVERY_MS) return;
    this.#forgotAt = this.#clock.monotonic();
    const before = this.#clock.now() - GONE_MS;
    for (const [key, entry] of this.#open) if (entry.expiresAt < before) this.#close(key, entry);
    for (const [key, { entry }] of this.#resting) if (entry.expiresAt < before) this.#resting.delete(key);
  }

  #close(key: string, { actor }: BookEntry): void {
    this.#open.delete(key);
    const waiting = this.#waiting.get(actor.tenant);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#waiting.delete(actor.tenant);
  }

  #put(key: string, entry: BookEntry): void {
    const rests = openKey(entry.actor.tenant, entry.callId);
    const { tenant } = entry.actor;
    if (entry.state === 'pending') {
      this.#open.set(key, entry);
      const waiting = this.#waiting.get(tenant) ?? new Map<string, BookEntry>();
      this.#waiting.set(tenant, waiting.set(key, entry));
      // A call that was asked about just now may not be stored yet: its entry is left alone all the same.
      this.#resting.set(rests, { entry, lookedAt: this.#clock.monotonic() });
      return;
    }
    this.#resting.delete(rests);
    this.#close(key, entry);
    if (entry.state === 'granted') return void this.#open.set(key, entry);
    this.#answered.delete(key);
    this.#answered.set(key, entry);
    const oldest = this.#answered.keys().next();
    if (this.#answered.size > MOST_ANSWERED && !oldest.done) this.#answered.delete(oldest.value);
  }
}

const byAge = (a: BookEntry, b: BookEntry): number =>
  a.createdAt - b.createdAt || (a.approvalId < b.approvalId ? -1 : 1);
