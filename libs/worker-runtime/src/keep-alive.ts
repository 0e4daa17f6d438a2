import type { LifeSign } from '@toolfabric/contract';
import { changeRecord, lifeKey } from '@toolfabric/ledger';
import { StoreUnavailable } from '@toolfabric/ports';
import type { WorkerContext } from './worker-context.ts';

export interface Life {
  /** Resolves with the reason when this process must stop working: it was declared dead, or cannot say that it lives. */
  readonly lost: Promise<string>;
  /**
   * From now on the sign says this too; resolves when it stands there, or when the store cannot take it now: then the
   * next beat says it.
   */
  tell(more: Partial<LifeFacts>): Promise<void>;
  /** Says `drained`, so that nobody has to wait for the death of this process. */
  end(): Promise<void>;
}

/** What a life sign says beside its beat. */
export type LifeFacts = Pick<LifeSign, 'slots' | 'handlers' | 'isolation' | 'storage' | 'pin' | 'egress'>;

/**
 * Renews `live.<kind>.<incarnation>` (protocol 10). An observer that sees no renewal stores `dead`; the renewal here
 * then fails, and the process stops. A process that could not renew for as long stops too: by then it may be dead to
 * everybody else.
 */
export const keepAlive = async (ctx: WorkerContext, facts: LifeFacts): Promise<Life> => {
  const { clock, pace, incarnation } = ctx;
  const key = lifeKey(ctx.kind, incarnation);
  const ended = new AbortController();
  let lit = false;
  let said = facts;
  /** A sign that is gone was removed as that of a dead worker: it must not be lit again. */
  const isOver = (life: LifeSign | undefined) => (life === undefined ? lit : life.state === 'dead');
  const renew = (state: LifeSign['state'], patienceMs: number) =>
    changeRecord(
      ctx.ports.lives,
      key,
      (life) => (isOver(life) ? undefined : { ...said, incarnation, state, beat: (life?.beat ?? 0) + 1 }),
      { clock, patienceMs },
    );
  const first = await renew('alive', pace.deadAfterMs);
  if (!first.done) throw new Error('this incarnation was declared dead before it began');
  lit = true;

  /** A store may take longer to say that it does not answer than this process may live without an answer. */
  const renewWithin = async (ms: number): Promise<'renewed' | 'dead' | 'unheard'> => {
    const answered = new AbortController();
    const renewing = renew('alive', pace.lifeBeatMs)
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
      else {
        ctx.telemetry.metrics.count('toolfabric_life_renewal_failures_total', { kind: ctx.kind });
        ctx.log.warn('life.not_renewed');
      }
      if (clock.monotonic() - renewedAt >= pace.deadAfterMs) return 'could not renew the life sign';
    }
    return new Promise(() => {});
  };
  return {
    lost: beat(),
    async tell(more) {
      said = { ...said, ...more };
      await renew('alive', pace.lifeBeatMs).catch((thrown: unknown) => {
        if (!(thrown instanceof StoreUnavailable)) throw thrown;
        ctx.log.warn('life.not_told');
      });
    },
    async end() {
      ended.abort();
      await renew('drained', pace.lifeBeatMs).catch(() => {});
    },
  };
};
