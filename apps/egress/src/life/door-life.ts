import type { DoorLife } from '@toolfabric/contract';
import type { Clock, Logger, Pace } from '@toolfabric/kernel';
import { changeRecord, doorKey } from '@toolfabric/ledger';
import { type Store, StoreUnavailable } from '@toolfabric/ports';

export interface DoorLifeDeps {
  readonly lives: Store<DoorLife>;
  readonly incarnation: string;
  readonly kinds: readonly string[];
  readonly clock: Clock;
  readonly pace: Pace;
  readonly log: Logger;
}

export interface RunningLife {
  /** Resolves with the reason when this process must close everything: it was declared dead, or may be by now. */
  readonly lost: Promise<string>;
  /** Says that everything is closed. Only to be called when it is: nobody asks this process again. */
  drained(): Promise<void>;
}

/**
 * The life sign of an egress (protocol 10). It stands before the socket opens, so that a router which stored a floor
 * either finds it and asks this process, or this process finds the floor.
 */
export const keepDoorAlive = async (deps: DoorLifeDeps): Promise<RunningLife> => {
  const { lives, incarnation, kinds, clock, pace, log } = deps;
  const ended = new AbortController();
  let lit = false;
  /** A sign that is gone was removed as that of a dead one: it must not be lit again. */
  const isOver = (life: DoorLife | undefined) => (life === undefined ? lit : life.state !== 'alive');
  const renew = (state: 'alive' | 'drained') =>
    changeRecord(
      lives,
      doorKey(incarnation),
      (life): DoorLife | undefined =>
        isOver(life) ? undefined : { incarnation, state, beat: (life?.beat ?? 0) + 1, kinds: [...kinds] },
      { clock, patienceMs: lit ? pace.lifeBeatMs : pace.deadAfterMs },
    );
  if (!(await renew('alive')).done) throw new Error('this incarnation was declared dead before it began');
  lit = true;
  const renewWithin = async (ms: number): Promise<'renewed' | 'dead' | 'unheard'> => {
    const answered = new AbortController();
    const renewing = renew('alive')
      .then(({ done }) => (done ? ('renewed' as const) : ('dead' as const)))
      .catch((thrown: unknown) => {
        if (thrown instanceof StoreUnavailable) return 'unheard' as const;
        throw thrown;
      });
    const tooLate = clock.sleep(Math.max(0, ms), answered.signal).then(() => 'unheard' as const);
    return Promise.race([renewing, tooLate]).finally(() => answered.abort());
  };
  const beat = async (): Promise<string> => {
    let renewedAt = clock.monotonic();
    while (!ended.signal.aborted) {
      await clock.sleep(pace.lifeBeatMs, ended.signal);
      if (ended.signal.aborted) break;
      const heard = await renewWithin(renewedAt + pace.deadAfterMs - clock.monotonic());
      if (heard === 'dead') return 'declared dead';
      if (heard === 'renewed') renewedAt = clock.monotonic();
      else log.warn('life.not_renewed', {});
      if (clock.monotonic() - renewedAt >= pace.deadAfterMs) return 'could not renew the life sign';
    }
    return new Promise(() => {});
  };
  return {
    lost: beat(),
    async drained() {
      ended.abort();
      await renew('drained').catch((thrown: unknown) => {
        if (!(thrown instanceof StoreUnavailable)) throw thrown;
      });
    },
  };
};
