import { OPEN_SHARDS } from '@toolfabric/contract';
import type { Clock, Logger, Pace } from '@toolfabric/kernel';
import { changeRecord, leaseKey } from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';

export interface ShardDeps {
  readonly incarnation: string;
  readonly ports: Pick<LedgerPorts, 'leases'>;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly log: Logger;
}

interface Seen {
  readonly holder: string;
  readonly beat: number;
  readonly since: number;
}

/**
 * Which shards of OPEN this router sweeps (protocol 10). A lease is renewed by raising its beat and taken over when it
 * stood still for `leaseDeadAfterMs` on the observer's own monotonic clock. Two holders for a moment are harmless:
 * every step of a sweep is a compare-and-set.
 */
export class ShardHolder {
  readonly #deps: ShardDeps;
  readonly #seen = new Map<number, Seen>();
  readonly #held = new Set<number>();

  constructor(deps: ShardDeps) {
    this.#deps = deps;
  }

  get held(): readonly number[] {
    return [...this.#held];
  }

  /** Renews what is held and takes what is free or left behind; a shard that cannot be renewed is not held. */
  async renew(): Promise<void> {
    for (let shard = 0; shard < OPEN_SHARDS; shard += 1) {
      const got = await this.#tryOne(shard).catch(() => false);
      if (got) this.#held.add(shard);
      else this.#held.delete(shard);
    }
  }

  /** Lets another router take over at once. */
  async giveUp(): Promise<void> {
    const { ports, clock, incarnation } = this.#deps;
    for (const shard of this.#held)
      await changeRecord(
        ports.leases,
        leaseKey(shard),
        (lease) => (lease?.holder === incarnation ? { holder: '', beat: lease.beat + 1 } : undefined),
        { clock, patienceMs: 500 },
      ).catch(() => {});
    this.#held.clear();
  }

  async #tryOne(shard: number): Promise<boolean> {
    const { ports, clock, pace, incarnation } = this.#deps;
    const change = await changeRecord(
      ports.leases,
      leaseKey(shard),
      (lease) => {
        const mine = lease === undefined || lease.holder === incarnation || lease.holder === '';
        if (!mine && !this.#stoodStill(shard, lease, pace.leaseDeadAfterMs)) return undefined;
        return { holder: incarnation, beat: (lease?.beat ?? 0) + 1 };
      },
      { clock, patienceMs: pace.leaseBeatMs },
    );
    return change.done;
  }

  #stoodStill(shard: number, lease: { holder: string; beat: number }, afterMs: number): boolean {
    const now = this.#deps.clock.monotonic();
    const seen = this.#seen.get(shard);
    if (seen?.holder === lease.holder && seen.beat === lease.beat) return now - seen.since >= afterMs;
    this.#seen.set(shard, { ...lease, since: now });
    return false;
  }
}
