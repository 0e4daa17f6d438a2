import type { Actor, ArtifactPermit, ArtifactRecord } from '@toolfabric/contract';
import type { Span } from '../store/byte-store.ts';
import { callMayRead, isOwner, mayRead, noSuchArtifact } from './access.ts';
import { type ArchiveContext, changeRecord, indexOf, isExpired } from './archive-context.ts';
import { isSnapshot, type StoredRecord } from './stored-record.ts';

export type ReadPermit = Extract<ArtifactPermit, { action: 'call' | 'read' }>;

export interface Opened {
  readonly record: ArtifactRecord;
  /** Bytes of it, as it stood when it was opened. */
  bytes(range: Span, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Tells the trace that somebody read so many bytes from `from` on. */
  wasRead(from: number, bytes: number): void;
}

/** RS-4: who may read is asked of the record at every read. Throws `not_found` otherwise. */
export const openArtifact = (ctx: ArchiveContext, permit: ReadPermit, id: string): Opened => {
  const { tenant } = permit.actor;
  const index = indexOf(ctx, tenant);
  const stored = index.get(id);
  if (!stored || isExpired(index, stored, ctx.clock.now())) throw noSuchArtifact();
  const may = permit.action === 'call' ? callMayRead(stored, permit) : mayRead(stored, permit.actor);
  if (!may) throw noSuchArtifact();
  const { record } = stored;
  return {
    record,
    bytes: (range, signal) => bytesOf(ctx, tenant, record, range, signal),
    wasRead: (from, bytes) => tellRead(ctx, permit, stored, from, bytes),
  };
};

/** A log may have been closed since it was opened: its bytes are then in the blob. */
async function* bytesOf(
  ctx: ArchiveContext,
  tenant: string,
  record: ArtifactRecord,
  range: Span,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  if (range.to <= range.from) return;
  const present = indexOf(ctx, tenant).get(record.id)?.record ?? record;
  if (present.state === 'live') yield* ctx.store.readLog(tenant, record.id, range, signal);
  else yield* ctx.store.readBlob(tenant, present.sha256 ?? '', range, signal);
}

/**
 * Reads of the workers are told apart, and those of snapshots not at all: nobody reads again in them. Whoever follows a
 * log that grows reads on, not again.
 */
const tellRead = (ctx: ArchiveContext, permit: ReadPermit, stored: StoredRecord, from: number, bytes: number): void => {
  if (isSnapshot(stored)) return;
  const { id, state } = stored.record;
  const byFront = permit.action === 'read';
  const isCounted = byFront && state === 'complete';
  ctx.events.read(stored, permit.actor, {
    bytes,
    from,
    byOwner: isOwner(stored.record, permit.actor),
    by: byFront ? 'front' : 'worker',
    state,
    ...(isCounted ? { read: markRead(ctx, permit.actor, id) ? 'again' : 'first' } : {}),
  });
};

/** Whether somebody had read it before; remembered for good. */
const markRead = (ctx: ArchiveContext, { tenant }: Actor, id: string): boolean => {
  const index = indexOf(ctx, tenant);
  if (index.marking.has(id) || index.get(id)?.wasRead !== false) return true;
  index.marking.add(id);
  const marked = changeRecord(ctx, index, id, (present) => ({ ...present, wasRead: true }))
    .catch(() => ctx.logger.warn('read_not_marked', { tenant }))
    .finally(() => {
      index.marking.delete(id);
      ctx.pending.delete(marked);
    });
  ctx.pending.add(marked);
  return false;
};
