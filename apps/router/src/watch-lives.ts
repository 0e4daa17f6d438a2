import type { LifeSign } from '@toolfabric/contract';
import type { Clock, Logger, Pace } from '@toolfabric/kernel';
import { changeRecord, lifeKey, lifePrefix } from '@toolfabric/ledger';
import type { LedgerPorts, Versioned } from '@toolfabric/ports';

/** How long a pool without a living worker is still routed to, in milliseconds. */
const RECENTLY_MS = 60_000;

interface Sighting {
  readonly revision: number;
  /** On the monotonic clock of this observer. */
  readonly since: number;
}

export interface LifeWatchDeps {
  readonly ports: Pick<LedgerPorts, 'lives'>;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly log: Logger;
}

/**
 * Observes the life signs of one kind (protocol 10). A life is declared dead when its revision stood still for
 * `deadAfterMs` of this observer's own monotonic clock, while it could look all the time; the declaration is a
 * compare-and-set, so that a renewal in between wins.
 */
export class LifeWatch {
  readonly #deps: LifeWatchDeps;
  readonly #kind: string;
  #seen = new Map<string, Sighting>();
  readonly #lastAlive = new Map<string, { life: LifeSign; at: number }>();
  readonly #dead = new Set<string>();

  constructor(deps: LifeWatchDeps, kind: string) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /**
   * Workers that lived a moment ago. The queue is durable: a pool whose workers are just being replaced still takes
   * calls, and one that nobody has served for a while does not.
   */
  get recent(): readonly LifeSign[] {
    const since = this.#deps.clock.monotonic() - RECENTLY_MS;
    return [...this.#lastAlive.values()].filter(({ at }) => at >= since).map(({ life }) => life);
  }

  /** One look at every life sign. When it fails, standing still proves nothing any more: observation begins anew. */
  async look(): Promise<void> {
    const lives = this.#deps.ports.lives(this.#kind);
    try {
      const keys = await lives.keys(lifePrefix(this.#kind));
      const found = await Promise.all(keys.map((key) => lives.get(key)));
      const present = found.filter(
        (life) => life !== undefined && life.value.state === 'alive',
      ) as Versioned<LifeSign>[];
      const stale = present.filter((life) => this.#isStale(life));
      await Promise.all(stale.map((life) => this.#declareDead(life)));
      const at = this.#deps.clock.monotonic();
      for (const { value } of present)
        if (!this.#dead.has(value.incarnation)) this.#lastAlive.set(value.incarnation, { life: value, at });
      this.#forget(at - RECENTLY_MS);
    } catch (thrown) {
      this.#seen = new Map();
      this.#deps.log.warn('lives.not_seen', {
        kind: this.#kind,
        cause: thrown instanceof Error ? thrown.name : 'thrown',
      });
    }
  }

  /**
   * Whether the holder of a claim is dead. A worker signs of its life before it takes its first claim, so one without a
   * sign is dead too.
   */
  async isDead(incarnation: string): Promise<boolean> {
    if (this.#dead.has(incarnation)) return true;
    const life = await this.#deps.ports.lives(this.#kind).get(lifeKey(this.#kind, incarnation));
    const dead = life?.value.state !== 'alive';
    if (dead) this.#dead.add(incarnation);
    return dead;
  }

  #forget(before: number): void {
    for (const [incarnation, { at }] of this.#lastAlive) if (at < before) this.#lastAlive.delete(incarnation);
  }

  #isStale(life: Versioned<LifeSign>): boolean {
    const { incarnation } = life.value;
    const now = this.#deps.clock.monotonic();
    const before = this.#seen.get(incarnation);
    if (before?.revision === life.revision) return now - before.since >= this.#deps.pace.deadAfterMs;
    this.#seen.set(incarnation, { revision: life.revision, since: now });
    return false;
  }

  async #declareDead(life: Versioned<LifeSign>): Promise<void> {
    const { incarnation, beat } = life.value;
    const change = await changeRecord(
      this.#deps.ports.lives(this.#kind),
      lifeKey(this.#kind, incarnation),
      (now) => (now?.state === 'alive' && now.beat === beat ? { ...now, state: 'dead' as const } : undefined),
      { clock: this.#deps.clock, believed: life },
    );
    if (!change.done && change.current?.value.state !== 'dead') return;
    this.#dead.add(incarnation);
    this.#deps.log.warn('worker.dead', { kind: this.#kind, incarnation });
  }
}
