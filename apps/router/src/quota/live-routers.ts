import type { RouterShare } from '@toolfabric/governance';
import { changeRecord, routerKey, routerPrefix } from '@toolfabric/ledger';
import { RevisionConflict } from '@toolfabric/ports';
import type { ShardDeps } from '../hold-shards.ts';

/** The sign of a router that stood still is removed after so many times the span in which it counts as dead. */
const REMOVED_AFTER = 10;

interface Seen {
  readonly beat: number;
  /** On the monotonic clock of this observer. */
  readonly since: number;
}

/**
 * Which routers live, as each of them sees it: each renews a sign of its own, and one that stood still for
 * `leaseDeadAfterMs` does not count (protocol 10). What they see may differ for some seconds; then a quota is a little
 * more or less than it should be, and never without a bound.
 */
export class LiveRouters {
  readonly #deps: ShardDeps;
  readonly #seen = new Map<string, Seen>();
  #share: RouterShare = { routers: 1, rank: 0 };

  constructor(deps: ShardDeps) {
    this.#deps = deps;
  }

  get share(): RouterShare {
    return this.#share;
  }

  /** Throws `StoreUnavailable`; then the share stays as it was. */
  async renew(): Promise<void> {
    const { ports, clock, pace, incarnation } = this.#deps;
    const own = routerKey(incarnation);
    await changeRecord(ports.leases, own, (sign) => ({ holder: incarnation, beat: (sign?.beat ?? 0) + 1 }), {
      clock,
      patienceMs: pace.leaseBeatMs,
    });
    const keys = await ports.leases.keys(routerPrefix);
    const living = [own];
    for (const key of keys) if (key !== own && (await this.#lives(key))) living.push(key);
    for (const key of this.#seen.keys()) if (!keys.includes(key)) this.#seen.delete(key);
    this.#share = { routers: living.length, rank: living.sort().indexOf(own) };
  }

  /** The others take over this one's share at once. */
  async giveUp(): Promise<void> {
    await this.#remove(routerKey(this.#deps.incarnation)).catch(() => {});
  }

  async #lives(key: string): Promise<boolean> {
    const { ports, clock, pace } = this.#deps;
    const sign = await ports.leases.get(key);
    if (sign === undefined) return false;
    const now = clock.monotonic();
    const seen = this.#seen.get(key);
    if (seen?.beat !== sign.value.beat) {
      this.#seen.set(key, { beat: sign.value.beat, since: now });
      return true;
    }
    if (now - seen.since > REMOVED_AFTER * pace.leaseDeadAfterMs) await this.#remove(key);
    return now - seen.since < pace.leaseDeadAfterMs;
  }

  async #remove(key: string): Promise<void> {
    const { leases } = this.#deps.ports;
    const sign = await leases.get(key);
    if (sign === undefined) return;
    await leases.remove(key, sign.revision).catch((thrown: unknown) => {
      if (!(thrown instanceof RevisionConflict)) throw thrown;
    });
  }
}
