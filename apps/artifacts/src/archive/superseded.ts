import { headName } from './head-name.ts';
import { SNAPSHOT_GRACE_MS } from './limits.ts';
import { isSnapshot, type StoredRecord } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

/** Snapshots of workspaces whose newest one says what it needs, and that are not among it. */
export const supersededOf = (index: TenantIndex): Set<string> => {
  const needed = new Map(
    [...index.heads].flatMap(([name, { head, keeps }]) =>
      keeps === undefined ? [] : [[name, new Set([...keeps, head.manifest])] as const],
    ),
  );
  const found = new Set<string>();
  if (needed.size === 0) return found;
  for (const stored of index.records()) {
    const kept = isSnapshot(stored) ? needed.get(headName(stored.workspace ?? '')) : undefined;
    if (kept && !kept.has(stored.record.id)) found.add(stored.record.id);
  }
  return found;
};

/** Those of them that nobody needed for the whole grace, as this process saw it; `now` is monotonic. */
export const overdueSnapshots = (index: TenantIndex, now: number): StoredRecord[] => {
  const present = supersededOf(index);
  for (const id of [...index.superseded.keys()]) if (!present.has(id)) index.superseded.delete(id);
  for (const id of present) if (!index.superseded.has(id)) index.superseded.set(id, now);
  return [...present]
    .filter((id) => now - (index.superseded.get(id) ?? now) > SNAPSHOT_GRACE_MS)
    .flatMap((id) => index.get(id) ?? []);
};
