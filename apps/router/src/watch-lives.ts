import type { LifeSign } from '@toolfabric/contract';
import { type Clock, FabricError, type Logger, type Pace, type Telemetry } from '@toolfabric/kernel';
import { changeRecord, isPinKey, lifeKey, lifePrefix } from '@toolfabric/ledger';
import type { LedgerPorts, Versioned } from '@toolfabric/ports';

/** How long a pool without a living worker is still routed to, in milliseconds. */
const RECENTLY_MS = 60_000;

/** How long the sign of a dead or drained worker is kept, in milliseconds. */
const ENDED_KEPT_MS = 3_600_000;

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
  readonly telemetry: Telemetry;
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
  #alive: readonly LifeSign[] = [];
  readonly #lastAlive = new Map<string, { life: LifeSign; at: number }>();
  readonly #dead = new Set<string>();
  readonly #ended = new Map<string, number>();
  /** Kinds of storage that any worker of this kind ever signed with. */
  readonly #storages = new Set<LifeSign['storage']>();

  constructor(deps: LifeWatchDeps, kind: string) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /**
   * The living workers, or where there are none those that lived a moment ago. The queue is durable: a pool whose workers are just being replaced still takes
   * calls, and one that nobody has served for a while does not.
   */
  get recent(): readonly LifeSign[] {
    if (this.#alive.length > 0) return this.#alive;
    const since = this.#deps.clock.monotonic() - RECENTLY_MS;
    return [...this.#lastAlive.values()].filter(({ at }) => at >= since).map(({ life }) => life);
  }

  /**
   * Whether workspaces may lie on storage of single workers. Never forgotten: what one of them left is needed however
   * long it is gone. So it is too as long as nothing is known of any.
   */
  get storesApart(): boolean {
    return this.#storages.size === 0 || this.#storages.has('own');
  }

  /** How many the last look saw alive. */
  get alive(): number {
    return this.#alive.length;
  }

  /** The sign of a worker that was alive at the last look. */
  living(incarnation: string): LifeSign | undefined {
    return this.#alive.find((life) => life.incarnation === incarnation);
  }

  /** One look at every life sign. When it fails, standing still proves nothing any more: observation begins anew. */
  async look(): Promise<void> {
    const lives = this.#deps.ports.lives(this.#kind);
    try {
      const keys = await lives.keys(lifePrefix(this.#kind));
      const signs = await this.#readAll(keys.filter((key) => !isPinKey(key)));
      for (const { value } of signs) this.#storages.add(value.storage);
      const present = signs.filter((life) => life.value.state === 'alive');
      const stale = present.filter((life) => this.#isStale(life));
      await Promise.all(stale.map((life) => this.#declareDead(life)));
      const at = this.#deps.clock.monotonic();
      for (const { value } of present)
        if (!this.#dead.has(value.incarnation)) this.#lastAlive.set(value.incarnation, { life: value, at });
      this.#alive = present.map(({ value }) => value).filter(({ incarnation }) => !this.#dead.has(incarnation));
      this.#forget(at - RECENTLY_MS);
      await this.#removeOld(signs.filter((life) => life.value.state !== 'alive'));
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

  /** A sign that cannot be read (of another version, say) hides itself, not the others. */
  async #readAll(keys: readonly string[]): Promise<Versioned<LifeSign>[]> {
    const lives = this.#deps.ports.lives(this.#kind);
    const read = async (key: string) => {
      try {
        return await lives.get(key);
      } catch (thrown) {
        if (!(thrown instanceof FabricError)) throw thrown;
        this.#deps.log.warn('life.not_read', { kind: this.#kind, key });
        return undefined;
      }
    };
    const found = await Promise.all(keys.map(read));
    return found.filter((life) => life !== undefined);
  }

  /** Signs of the dead are kept for a while; without one a holder counts as dead all the same. */
  async #removeOld(ended: readonly Versioned<LifeSign>[]): Promise<void> {
    const now = this.#deps.clock.monotonic();
    const keep = new Set(ended.map((life) => life.value.incarnation));
    for (const incarnation of this.#ended.keys()) if (!keep.has(incarnation)) this.#ended.delete(incarnation);
    for (const life of ended) {
      const { incarnation } = life.value;
      const since = this.#ended.get(incarnation) ?? now;
      this.#ended.set(incarnation, since);
      if (now - since < ENDED_KEPT_MS) continue;
      await this.#deps.ports.lives(this.#kind).remove(lifeKey(this.#kind, incarnation), life.revision);
      this.#seen.delete(incarnation);
      this.#dead.delete(incarnation);
    }
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
    this.#deps.telemetry.metrics.count('toolfabric_workers_dead_total', { kind: this.#kind });
    this.#deps.log.warn('worker.dead', { kind: this.#kind, incarnation });
  }
}
