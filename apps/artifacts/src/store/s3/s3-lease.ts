/**
 * One process at a time holds a bucket (B3). Nobody compares clocks: a holder is dead when its object stood unchanged
 * for `leaseDeadAfterMs` on the clock of the one who watched it; a holder that could not renew for less than that stops.
 */
import { type Clock, FabricError, type Pace, randomId } from '@toolfabric/kernel';
import { type Condition, ConditionFailed, type S3Bucket } from './s3-bucket.ts';
import { KEYS } from './s3-keys.ts';

/** Times of a dead holder that a new one waits. */
const PATIENCE = 3;

export interface Lease {
  readonly lost: Promise<string>;
  /** Whether nobody can have taken it yet. False in a process that stood still, before it finds out more. */
  isFresh(): boolean;
  release(): Promise<void>;
}

/** Throws `conflict` when a holder lives. */
export const takeLease = async (bucket: S3Bucket, pace: Pace, clock: Clock): Promise<Lease> => {
  const holder = randomId();
  const textOf = (beat: number): string => JSON.stringify({ holder, beat });
  const until = clock.monotonic() + PATIENCE * pace.leaseDeadAfterMs;
  let seen: { etag: string; since: number } | undefined;
  for (;;) {
    const now = clock.monotonic();
    try {
      const present = await bucket.text(KEYS.lease);
      if (seen?.etag !== present?.etag) seen = present && { etag: present.etag, since: now };
      if (!seen || now - seen.since > pace.leaseDeadAfterMs) {
        const etag = await tryPut(bucket, textOf(0), seen ? { type: 'is', etag: seen.etag } : { type: 'absent' });
        if (etag !== undefined) return holdLease(bucket, pace, clock, textOf, etag);
      }
      if (now > until) throw new FabricError('conflict', 'another process holds the bucket of the artifacts');
    } catch (thrown) {
      if (now > until) throw thrown;
    }
    await clock.sleep(Math.min(pace.leaseBeatMs, pace.leaseDeadAfterMs / 4));
  }
};

const tryPut = async (bucket: S3Bucket, text: string, condition: Condition): Promise<string | undefined> => {
  try {
    return await bucket.putOwn(KEYS.lease, text, condition);
  } catch (thrown) {
    if (thrown instanceof ConditionFailed) return undefined;
    throw thrown;
  }
};

const holdLease = (
  bucket: S3Bucket,
  pace: Pace,
  clock: Clock,
  textOf: (beat: number) => string,
  first: string,
): Lease => {
  const stopped = new AbortController();
  const lost = Promise.withResolvers<string>();
  let etag = first;
  let isMine = true;
  let renewed = clock.monotonic();
  const isFresh = () => isMine && clock.monotonic() - renewed <= pace.leaseDeadAfterMs - pace.leaseBeatMs;
  const renew = async () => {
    for (let beat = 1; !stopped.signal.aborted; beat++) {
      await clock.sleep(pace.leaseBeatMs, stopped.signal);
      if (stopped.signal.aborted) return;
      const asked = clock.monotonic();
      const outcome = await tryPut(bucket, textOf(beat), { type: 'is', etag }).catch(() => 'away' as const);
      if (outcome === undefined) return lose('another process took the bucket');
      if (outcome !== 'away') [etag, renewed] = [outcome, asked];
      if (!isFresh()) return lose('the bucket does not answer');
    }
  };
  const lose = (reason: string): void => {
    isMine = false;
    lost.resolve(reason);
  };
  const renewing = renew();
  return {
    lost: lost.promise,
    isFresh,
    release: async () => {
      stopped.abort();
      await renewing;
      if (isMine) await bucket.remove(KEYS.lease).catch(() => {});
    },
  };
};
