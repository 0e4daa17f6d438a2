import type { DoorLife } from '@toolfabric/contract';
import type { Clock, Logger, Pace } from '@toolfabric/kernel';
import { changeRecord, doorKey, doorPrefix } from '@toolfabric/ledger';
import type { Doors, Versioned } from '@toolfabric/ports';

/**
 * Milliseconds for which the sign of an egress that ended is kept: longer than any call lives, since a call that was
 * accepted before the death of one has no fence (protocol 7).
 */
const ENDED_KEPT_MS = 48 * 3_600_000;
const DRAINED_KEPT_MS = 3_600_000;

export interface DoorWatchDeps {
  readonly lives: Doors['lives'];
  readonly clock: Clock;
  readonly pace: Pace;
  readonly log: Logger;
}

/** Every sign that stands there. Throws `StoreUnavailable`; one that cannot be read throws too: it may be of one that lives. */
export const readDoors = async (lives: Doors['lives']): Promise<Versioned<DoorLife>[]> => {
  const keys = await lives.keys(doorPrefix);
  const found = await Promise.all(keys.map((key) => lives.get(key)));
  return found.filter((life) => life !== undefined);
};

/**
 * Observes the egress processes (protocol 10): one whose sign stood still for `deadAfterMs` of this observer's own clock
 * is declared dead by compare-and-set, with the time of it.
 */
export class DoorWatch {
  readonly #deps: DoorWatchDeps;
  #seen = new Map<string, { readonly revision: number; readonly since: number }>();
  #alive: readonly DoorLife[] = [];

  constructor(deps: DoorWatchDeps) {
    this.#deps = deps;
  }

  /** How many of a kind the last look saw alive. */
  alive(kind: string): number {
    return this.#alive.filter(({ kinds }) => kinds.includes(kind)).length;
  }

  /** One look at all of them. When it fails, standing still proves nothing any more. */
  async look(): Promise<void> {
    const { lives, log } = this.#deps;
    try {
      const doors = await readDoors(lives);
      const present = doors.filter(({ value }) => value.state === 'alive');
      const stale = new Set(present.filter((door) => this.#isStale(door)));
      for (const door of stale) await this.#declareDead(door);
      this.#alive = present.filter((door) => !stale.has(door)).map(({ value }) => value);
      await this.#removeOld(doors);
    } catch (thrown) {
      this.#seen = new Map();
      log.warn('doors.not_seen', { cause: thrown instanceof Error ? thrown.name : 'thrown' });
    }
  }

  #isStale({ value, revision }: Versioned<DoorLife>): boolean {
    const now = this.#deps.clock.monotonic();
    const before = this.#seen.get(value.incarnation);
    if (before?.revision === revision) return now - before.since >= this.#deps.pace.deadAfterMs;
    this.#seen.set(value.incarnation, { revision, since: now });
    return false;
  }

  async #declareDead(door: Versioned<DoorLife>): Promise<void> {
    const { lives, clock, log } = this.#deps;
    const { incarnation, beat } = door.value;
    const change = await changeRecord(
      lives,
      doorKey(incarnation),
      (now): DoorLife | undefined =>
        now?.state === 'alive' && now.beat === beat ? { ...now, state: 'dead', diedAt: clock.now() } : undefined,
      { clock, believed: door },
    );
    if (change.done) log.warn('egress.dead', { incarnation });
  }

  async #removeOld(doors: readonly Versioned<DoorLife>[]): Promise<void> {
    const { lives, clock } = this.#deps;
    const now = clock.monotonic();
    for (const { value, revision } of doors) {
      if (value.state === 'alive') continue;
      const before = this.#seen.get(value.incarnation);
      if (before?.revision !== revision) this.#seen.set(value.incarnation, { revision, since: now });
      const kept = now - (before?.revision === revision ? before.since : now);
      if (kept < (value.state === 'drained' ? DRAINED_KEPT_MS : ENDED_KEPT_MS)) continue;
      await lives.remove(doorKey(value.incarnation), revision);
      this.#seen.delete(value.incarnation);
    }
  }
}
