import type { z } from 'zod';
import { type ArchiveContext, indexOf } from './archive-context.ts';
import { headName } from './head-name.ts';
import { StoredHead, StoredRecord } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

/**
 * Reads everything that stands in the store, and deletes what a process left that died: bytes that no record names,
 * logs that were closed, files that were half written. A record without its bytes stays where it is and cannot be read.
 */
export const loadArchive = async (ctx: ArchiveContext): Promise<void> => {
  for (const tenant of await ctx.store.tenants()) {
    await ctx.store.sweepLeftovers(tenant);
    await loadTenant(ctx, indexOf(ctx, tenant));
  }
};

const loadTenant = async (ctx: ArchiveContext, index: TenantIndex): Promise<void> => {
  const { store, logger } = ctx;
  const { tenant } = index;
  const blobs = await collect(store.blobs(tenant), ({ sha256, size }) => [sha256, size]);
  const logs = await collect(store.logs(tenant), ({ id, size }) => [id, size]);
  const records = await readDocuments(ctx, tenant, 'records', StoredRecord);
  const heads = await readDocuments(ctx, tenant, 'heads', StoredHead);
  for (const head of heads.values) index.heads.set(headName(head.head.workspace), head);

  let broken = records.unreadable;
  for (const stored of records.values.sort((a, b) => a.record.createdAt - b.record.createdAt)) {
    if (!restore(index, stored, blobs, logs)) broken += 1;
  }
  if (broken > 0 || heads.unreadable > 0) {
    logger.error('documents_broken', { tenant, records: broken, heads: heads.unreadable });
  }
  // A record that cannot be read may name any of them.
  if (records.unreadable > 0) return;
  for (const id of logs.keys()) if (index.get(id)?.record.state !== 'live') await store.removeLog(tenant, id);
  for (const sha256 of blobs.keys()) if (!index.hasBlob(sha256)) await store.removeBlob(tenant, sha256);
};

/** False when its bytes are not there. */
const restore = (
  index: TenantIndex,
  stored: StoredRecord,
  blobs: ReadonlyMap<string, number>,
  logs: ReadonlyMap<string, number>,
): boolean => {
  const { record } = stored;
  if (record.owner.tenant !== index.tenant) return false;
  if (record.state === 'live') {
    // The bytes are the truth: the record may be from before the last append.
    index.set({ ...stored, record: { ...record, size: logs.get(record.id) ?? 0 } });
    return true;
  }
  if (record.sha256 === undefined || blobs.get(record.sha256) !== record.size) return false;
  index.hold(record.sha256, record.size);
  index.set(stored);
  return true;
};

const collect = async <T>(
  entries: AsyncIterable<T>,
  toPair: (entry: T) => [string, number],
): Promise<Map<string, number>> => {
  const found = new Map<string, number>();
  for await (const entry of entries) found.set(...toPair(entry));
  return found;
};

const readDocuments = async <T>(
  { store }: ArchiveContext,
  tenant: string,
  family: 'records' | 'heads',
  schema: z.ZodType<T>,
): Promise<{ values: T[]; unreadable: number }> => {
  const values: T[] = [];
  let unreadable = 0;
  for await (const { text } of store.documents(tenant, family)) {
    const parsed = schema.safeParse(parseOrNothing(text));
    if (parsed.success) values.push(parsed.data);
    else unreadable += 1;
  }
  return { values, unreadable };
};

const parseOrNothing = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
