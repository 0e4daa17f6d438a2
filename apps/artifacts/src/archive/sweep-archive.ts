import { type ArchiveContext, isExpired, underArtifact } from './archive-context.ts';
import { hasLostWriter, type LiveLogs } from './live-logs.ts';
import { removeArtifact } from './manage-artifact.ts';
import type { StoredRecord } from './stored-record.ts';
import { overdueSnapshots, supersededOf } from './superseded.ts';
import type { TenantIndex } from './tenant-index.ts';

/** Of one tenant in one round; the next round goes on. */
const MOST_A_ROUND = 500;

/** Deletes what has expired, and closes logs whose writer is gone. One that fails is tried again in the next round. */
export const sweepArchive = async (ctx: ArchiveContext, logs: LiveLogs, signal: AbortSignal): Promise<void> => {
  for (const index of [...ctx.tenants.values()]) {
    const now = ctx.clock.now();
    const due = take(index.records(), MOST_A_ROUND, (stored) => isDue(index, stored, now));
    for (const stored of due) {
      if (signal.aborted) return;
      await (stored.record.state === 'live' ? logs.closeIfLost(index, stored) : expire(ctx, index, stored)).catch(() =>
        ctx.logger.warn('sweep_failed', { tenant: index.tenant }),
      );
    }
    await sweepSnapshots(ctx, index, signal);
  }
};

const sweepSnapshots = async (ctx: ArchiveContext, index: TenantIndex, signal: AbortSignal): Promise<void> => {
  for (const { record } of overdueSnapshots(index, ctx.clock.monotonic()).slice(0, MOST_A_ROUND)) {
    if (signal.aborted) return;
    await underArtifact(ctx, index.tenant, record.id, async () => {
      const present = index.get(record.id);
      // The head may have moved to it since.
      if (present && supersededOf(index).has(record.id)) await removeArtifact(ctx, index, present);
    }).catch(() => ctx.logger.warn('sweep_failed', { tenant: index.tenant }));
  }
};

const isDue = (index: TenantIndex, stored: StoredRecord, now: number): boolean =>
  hasLostWriter(stored, now) || isExpired(index, stored, now);

const expire = (ctx: ArchiveContext, index: TenantIndex, { record }: StoredRecord): Promise<void> =>
  underArtifact(ctx, index.tenant, record.id, async () => {
    const present = index.get(record.id);
    // It may have been pinned since.
    if (!present || !isExpired(index, present, ctx.clock.now())) return;
    await removeArtifact(ctx, index, present);
    ctx.events.about('artifact.expired', present);
  });

const take = <T>(all: Iterable<T>, most: number, fits: (one: T) => boolean): T[] => {
  const taken: T[] = [];
  for (const one of all) {
    if (taken.length >= most) break;
    if (fits(one)) taken.push(one);
  }
  return taken;
};
