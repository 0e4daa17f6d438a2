import type { Clock, Logger } from '@toolfabric/kernel';
import type { BlobWriter, ByteStore } from '../store/byte-store.ts';
import type { ArtifactEvents } from './artifact-events.ts';
import { headName } from './head-name.ts';
import type { KeyedLock } from './keyed-lock.ts';
import type { ArchiveLimits } from './limits.ts';
import { DAY_MS } from './limits.ts';
import { isSnapshot, type StoredRecord } from './stored-record.ts';
import { TenantIndex } from './tenant-index.ts';

/** What every procedure of the archive needs. */
export interface ArchiveContext {
  readonly store: ByteStore;
  readonly clock: Clock;
  readonly limits: ArchiveLimits;
  readonly events: ArtifactEvents;
  readonly logger: Logger;
  readonly locks: KeyedLock;
  readonly tenants: Map<string, TenantIndex>;
  /** Of all tenants together. */
  readonly traffic: { uploads: number };
  /** Requests, and work that no request waits for: stopping waits for all of it. */
  readonly pending: Set<Promise<unknown>>;
}

/** Empty for a tenant that stored nothing yet. */
export const indexOf = ({ tenants }: ArchiveContext, tenant: string): TenantIndex => {
  const known = tenants.get(tenant);
  if (known) return known;
  const index = new TenantIndex(tenant);
  tenants.set(tenant, index);
  return index;
};

/** One change of one artifact at a time. */
export const underArtifact = <T>(ctx: ArchiveContext, tenant: string, id: string, work: () => Promise<T>): Promise<T> =>
  ctx.locks.run(`${tenant}/${id}`, work);

const underBlob = <T>(ctx: ArchiveContext, tenant: string, sha256: string, work: () => Promise<T>): Promise<T> =>
  ctx.locks.run(`${tenant}/sha256/${sha256}`, work);

/** Makes what was written readable by its digest, or takes what stands there already, and counts one reference. */
export const keepBlob = (
  ctx: ArchiveContext,
  index: TenantIndex,
  writer: BlobWriter,
  { sha256, size }: { readonly sha256: string; readonly size: number },
): Promise<void> =>
  underBlob(ctx, index.tenant, sha256, async () => {
    const isThere = index.hasBlob(sha256);
    // Counted before it is there: whoever deletes blobs asks the count under the same lock.
    index.hold(sha256, size);
    try {
      await (isThere ? writer.discard() : writer.commit(sha256));
    } catch (thrown) {
      index.drop(sha256);
      throw thrown;
    }
  });

/** Counts one reference less, and deletes the bytes unless somebody refers to them at that moment. */
export const releaseBlob = async (ctx: ArchiveContext, index: TenantIndex, sha256: string): Promise<void> => {
  if (!index.drop(sha256)) return;
  await underBlob(ctx, index.tenant, sha256, async () => {
    if (!index.hasBlob(sha256)) await ctx.store.removeBlob(index.tenant, sha256);
  });
};

/** Durable first, then known. */
export const saveRecord = async (ctx: ArchiveContext, index: TenantIndex, stored: StoredRecord): Promise<void> => {
  await ctx.store.writeDocument(index.tenant, 'records', stored.record.id, JSON.stringify(stored));
  index.set(stored);
};

/** Changes a record under its lock; `change` may give back undefined to leave it. */
export const changeRecord = (
  ctx: ArchiveContext,
  index: TenantIndex,
  id: string,
  change: (stored: StoredRecord) => StoredRecord | undefined,
): Promise<StoredRecord | undefined> =>
  underArtifact(ctx, index.tenant, id, async () => {
    const before = index.get(id);
    const after = before && change(before);
    if (after === undefined) return before;
    await saveRecord(ctx, index, after);
    return after;
  });

/** A snapshot lives as long as its workspace is used, whenever it was written. */
const isKeptByHead = (index: TenantIndex, stored: StoredRecord, now: number): boolean => {
  if (!isSnapshot(stored)) return false;
  const head = index.heads.get(headName(stored.workspace ?? ''));
  return head !== undefined && now < head.movedAt + head.retentionDays * DAY_MS;
};

/** A log that still grows does not expire: it is closed first. */
export const isExpired = (index: TenantIndex, stored: StoredRecord, now: number): boolean =>
  stored.record.state === 'complete' &&
  !stored.record.pinned &&
  stored.record.expiresAt <= now &&
  !isKeptByHead(index, stored, now);
