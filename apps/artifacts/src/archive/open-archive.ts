import type { Clock, Logger } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import type { ByteStore } from '../store/byte-store.ts';
import { toStoreError } from '../store/to-store-error.ts';
import type { ArchiveContext } from './archive-context.ts';
import { ArtifactEvents } from './artifact-events.ts';
import { KeyedLock } from './keyed-lock.ts';
import type { ArchiveLimits } from './limits.ts';
import { LiveLogs } from './live-logs.ts';
import { loadArchive } from './load-archive.ts';
import { sweepArchive } from './sweep-archive.ts';

export interface ArchiveOptions {
  readonly store: ByteStore;
  readonly limits: ArchiveLimits;
  readonly clock: Clock;
  readonly events: EventLog;
  readonly logger: Logger;
  readonly sweepEveryMs: number;
}

export interface Archive {
  readonly ctx: ArchiveContext;
  readonly logs: LiveLogs;
  /** Ends the sweeping; resolves when nothing of it is on its way. */
  stop(): Promise<void>;
}

/** Resolves when everything that stands in the store is known. */
export const openArchive = async (options: ArchiveOptions): Promise<Archive> => {
  const { store, limits, clock, logger, sweepEveryMs } = options;
  const events = new ArtifactEvents(options.events, clock);
  const ctx: ArchiveContext = {
    store,
    limits,
    clock,
    logger,
    events,
    locks: new KeyedLock(),
    tenants: new Map(),
    traffic: { uploads: 0 },
    pending: new Set(),
  };
  await loadArchive(ctx).catch((thrown: unknown) => {
    throw toStoreError(thrown);
  });
  const logs = new LiveLogs(ctx);
  const stopped = new AbortController();
  const sweeping = sweepUntil(stopped.signal, clock, sweepEveryMs, () => sweepArchive(ctx, logs, stopped.signal));
  return {
    ctx,
    logs,
    stop: async () => {
      stopped.abort();
      await sweeping;
      await Promise.all(ctx.pending);
    },
  };
};

const sweepUntil = async (
  signal: AbortSignal,
  clock: Clock,
  everyMs: number,
  sweep: () => Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    await sweep();
    await clock.sleep(everyMs, signal);
  }
};
