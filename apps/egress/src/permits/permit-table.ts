import { createHash, randomBytes } from 'node:crypto';
import type { EgressPermit } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import { Refused } from '../refuse.ts';
import { Floors, type Revocation } from './floors.ts';
import { type Closed, OpenPermit } from './open-permit.ts';
import { endOf } from './read-permit.ts';
import { Spending } from './spending.ts';

/** The stored floor of a call: the epoch up to which every permit of it is void; 0 without one. Rejects when unreadable. */
export interface FloorSource {
  floorOf(permit: EgressPermit): Promise<number>;
}

/** Without stored floors, what this process was told is all there is. */
export const noFloors: FloorSource = { floorOf: () => Promise.resolve(0) };

/** Openings of the permit of one execution that stand at one time. */
const MOST_OPENINGS = 16;
const TIMER_MAX_MS = 2 ** 31 - 1;
const hashOf = (token: string) => createHash('sha256').update(token).digest('base64');

/** The permits of this process, by the hash of their tokens. Bounded: those that ended make room, open ones never. */
export class PermitTable {
  readonly #permits = new Map<string, OpenPermit>();
  readonly #byCall = new Map<string, Set<OpenPermit>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #floors: Floors;
  readonly #stored: FloorSource;
  readonly #most: number;
  readonly #clock: Clock;
  #stopping = false;

  constructor(limits: { permits: number; floors: number }, stored: FloorSource, clock: Clock) {
    this.#most = limits.permits;
    this.#floors = new Floors(limits.floors);
    this.#stored = stored;
    this.#clock = clock;
  }

  get size(): number {
    return this.#permits.size;
  }

  /**
   * The token of a permit that was read. It stands in the table before the stored floor is read: a revocation that comes
   * in between finds it there (protocol 7). Throws `permit_revoked`, `permits_full`, `floor_unreadable`,
   * and `too_many_connections` for one that stands open too often.
   */
  async open(permit: EgressPermit): Promise<string> {
    if (this.#stopping) throw new Refused('stopping');
    if (this.#floors.covers(permit)) throw new Refused('permit_revoked');
    if (this.#openingsOf(permit) >= MOST_OPENINGS) throw new Refused('too_many_connections');
    this.#makeRoom();
    const token = randomBytes(32).toString('base64url');
    const opened = new OpenPermit(permit, this.#spendingOf(permit));
    this.#add(hashOf(token), opened);
    const floor = await this.#stored.floorOf(permit).catch((thrown: unknown) => {
      void opened.end('permit_closed');
      throw new Refused('floor_unreadable', thrown);
    });
    if (floor >= permit.epoch) void opened.end('permit_revoked');
    if (opened.reason !== undefined) throw new Refused(opened.reason);
    return token;
  }

  /** The permit of a token. Throws `permit_unknown`, or why the permit has ended. */
  find(token: string): OpenPermit {
    const found = this.#permits.get(hashOf(token));
    if (found === undefined) throw new Refused('permit_unknown');
    if (endOf(found.permit) <= this.#clock.now()) void found.end('permit_expired');
    if (found.reason !== undefined) throw new Refused(found.reason);
    return found;
  }

  /** Ends the permit of a token; resolves once all of it is closed. Throws `permit_unknown`. */
  async close(token: string): Promise<Closed> {
    const found = this.#permits.get(hashOf(token));
    if (found === undefined) throw new Refused('permit_unknown');
    const connections = await found.end('permit_closed');
    return { connections, bytes: found.spending.bytes };
  }

  /** Resolves once every connection of that call at or below the epoch is closed; no later one is let through. */
  async revoke(revocation: Revocation): Promise<{ closed: number }> {
    this.#floors.raise(revocation);
    const ended = [...(this.#byCall.get(revocation.callId) ?? [])].filter(
      ({ permit }) => permit.epoch <= revocation.epoch,
    );
    const counts = await Promise.all(ended.map((permit) => permit.end('permit_revoked')));
    return { closed: counts.reduce((sum, count) => sum + count, 0) };
  }

  /** Ends the connections over which a credential went; the permits stay. */
  async closeCredential(fits: (permit: EgressPermit, handle: string) => boolean): Promise<{ closed: number }> {
    const hit = [...this.#permits.values()].flatMap(({ permit, connections }) =>
      [...connections].filter(({ credentials }) => [...credentials].some((handle) => fits(permit, handle))),
    );
    for (const connection of hit) connection.end('credential_ended');
    await Promise.all(hit.map(({ closed }) => closed));
    return { closed: hit.length };
  }

  /** Ends everything, for good. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all([...this.#permits.values()].map((permit) => permit.end('stopping')));
  }

  #ofExecution({ callId, epoch }: EgressPermit): OpenPermit[] {
    return [...(this.#byCall.get(callId) ?? [])].filter((other) => other.permit.epoch === epoch);
  }

  #openingsOf(permit: EgressPermit): number {
    return this.#ofExecution(permit).filter(({ reason }) => reason === undefined).length;
  }

  #spendingOf(permit: EgressPermit): Spending {
    return this.#ofExecution(permit)[0]?.spending ?? new Spending(permit.maxBytes);
  }

  #makeRoom(): void {
    if (this.#permits.size < this.#most) return;
    const ended = [...this.#permits].find(([, permit]) => permit.reason !== undefined && permit.connections.size === 0);
    if (ended === undefined) throw new Refused('permits_full');
    this.#remove(...ended);
  }

  #add(hash: string, opened: OpenPermit): void {
    this.#permits.set(hash, opened);
    const { callId } = opened.permit;
    this.#byCall.set(callId, (this.#byCall.get(callId) ?? new Set()).add(opened));
    const left = Math.min(TIMER_MAX_MS, endOf(opened.permit) - this.#clock.now());
    const onEnd = () => opened.end('permit_expired').finally(() => this.#remove(hash, opened));
    this.#timers.set(hash, setTimeout(onEnd, left).unref());
  }

  #remove(hash: string, opened: OpenPermit): void {
    clearTimeout(this.#timers.get(hash));
    this.#timers.delete(hash);
    this.#permits.delete(hash);
    const ofCall = this.#byCall.get(opened.permit.callId);
    ofCall?.delete(opened);
    if (ofCall?.size === 0) this.#byCall.delete(opened.permit.callId);
  }
}
