import type { Actor, ArtifactRecord, Share } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { checkManage, noSuchArtifact } from './access.ts';
import {
  type ArchiveContext,
  changeRecord,
  indexOf,
  isExpired,
  releaseBlob,
  underArtifact,
} from './archive-context.ts';
import { MAX_SHARES } from './limits.ts';
import type { StoredRecord } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

export type Change =
  | { readonly type: 'share' | 'unshare'; readonly share: Share }
  | { readonly type: 'pin' | 'unpin'; readonly share?: undefined };

/** Throws `not_found` or `forbidden` for whom it is not to be changed. */
export const changeArtifact = async (
  ctx: ArchiveContext,
  actor: Actor,
  id: string,
  change: Change,
): Promise<ArtifactRecord> => {
  const index = indexOf(ctx, actor.tenant);
  const stored = await changeRecord(ctx, index, id, (present) => {
    checkPresent(ctx, index, present, actor);
    return { ...present, record: changed(present.record, change) };
  });
  if (!stored) throw noSuchArtifact();
  return stored.record;
};

const changed = (record: ArtifactRecord, change: Change): ArtifactRecord => {
  const { type, share } = change;
  if (share === undefined) return { ...record, pinned: type === 'pin' };
  const others = record.sharedWith.filter(({ user, agent }) => user !== share.user || agent !== share.agent);
  if (type === 'unshare') return { ...record, sharedWith: others };
  if (others.length >= MAX_SHARES) {
    throw new FabricError('invalid_request', `an artifact has at most ${MAX_SHARES} shares`);
  }
  return { ...record, sharedWith: [...others, share] };
};

/** Throws `conflict` for what is pinned or still grows. */
export const deleteArtifact = (ctx: ArchiveContext, actor: Actor, id: string): Promise<void> => {
  const index = indexOf(ctx, actor.tenant);
  return underArtifact(ctx, actor.tenant, id, async () => {
    const stored = index.get(id);
    if (!stored) throw noSuchArtifact();
    checkPresent(ctx, index, stored, actor);
    if (stored.record.pinned) throw new FabricError('conflict', 'the artifact is pinned');
    if (stored.record.state === 'live') throw new FabricError('conflict', 'the log still grows');
    await removeArtifact(ctx, index, stored);
  });
};

/** Under the lock of the artifact: the record goes first, so that nobody reads half of it. */
export const removeArtifact = async (
  ctx: ArchiveContext,
  index: TenantIndex,
  { record }: StoredRecord,
): Promise<void> => {
  await ctx.store.removeDocument(index.tenant, 'records', record.id);
  index.delete(record.id);
  if (record.sha256 !== undefined) await releaseBlob(ctx, index, record.sha256);
};

const checkPresent = (ctx: ArchiveContext, index: TenantIndex, stored: StoredRecord, actor: Actor): void => {
  if (isExpired(index, stored, ctx.clock.now())) throw noSuchArtifact();
  checkManage(stored, actor);
};
