import { createHash } from 'node:crypto';
import { artifactIdFor, FabricError } from '@toolfabric/kernel';
import type { StoredArtifact } from '@toolfabric/ports';
import type { BlobWriter } from '../store/byte-store.ts';
import type { CallPermit } from './access.ts';
import { type ArchiveContext, indexOf, keepBlob, releaseBlob, saveRecord, underArtifact } from './archive-context.ts';
import { DAY_MS } from './limits.ts';
import { Reservation } from './reservation.ts';
import { SNAPSHOT_PREFIX, type StoredRecord } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

/** What a writer says about its bytes. */
export interface ArtifactHead {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly trust: 'trusted' | 'untrusted';
}

export interface ArtifactBody {
  /** Bytes that were announced, where they were. */
  readonly announced: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The workspace whose snapshot the artifact is. Throws `forbidden` when the call has none, or the id is not its own. */
export const checkHead = (permit: CallPermit, { id, name }: ArtifactHead): string | undefined => {
  if (artifactIdFor(permit.actor.tenant, permit.callId, permit.epoch, name) !== id) {
    throw new FabricError('forbidden', 'the id does not follow from the call, its epoch and the name');
  }
  if (!name.startsWith(SNAPSHOT_PREFIX)) return undefined;
  if (permit.workspace === undefined) throw new FabricError('forbidden', 'the call has no workspace');
  return permit.workspace;
};

/**
 * Stores a body under the id of its call and name. The same bytes again are found, others are a `conflict`. Throws
 * `artifact_quota`, `too_large`, `overloaded` or `unavailable`; then nothing of it can be read.
 */
export const putArtifact = async (
  ctx: ArchiveContext,
  permit: CallPermit,
  head: ArtifactHead,
  body: ArtifactBody,
  signal: AbortSignal,
): Promise<StoredArtifact> => {
  const workspace = checkHead(permit, head);
  const index = indexOf(ctx, permit.actor.tenant);
  const present = index.get(head.id);
  if (present) return sameOrConflict(present, await digestUpTo(body.chunks, present.record.size));

  const { callId, epoch, maxBytes } = permit;
  const room = new Reservation(ctx, index, { callId, epoch, maxBytes, workspace });
  let writer: BlobWriter | undefined;
  try {
    if (body.announced !== undefined) room.announce(body.announced);
    writer = await ctx.store.beginBlob(index.tenant, signal);
    const written = await receive(body.chunks, writer, room);
    return await keep(ctx, index, newRecord(ctx, permit, head, written, workspace), writer);
  } finally {
    await writer?.discard().catch(() => ctx.logger.warn('leftover', { tenant: index.tenant }));
    room.release();
  }
};

interface Written {
  readonly size: number;
  readonly sha256: string;
}

const receive = async (chunks: AsyncIterable<Uint8Array>, writer: BlobWriter, room: Reservation): Promise<Written> => {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of chunks) {
    room.take(chunk.byteLength);
    hash.update(chunk);
    await writer.write(chunk);
    size += chunk.byteLength;
  }
  return { size, sha256: hash.digest('hex') };
};

export const newRecord = (
  { clock }: ArchiveContext,
  permit: CallPermit,
  { id, name, mediaType, trust }: ArtifactHead,
  written: Written | undefined,
  workspace: string | undefined,
): StoredRecord => {
  const now = clock.now();
  const { actor, taskId, callId, epoch, retentionDays } = permit;
  return {
    format: 1,
    epoch,
    wasRead: false,
    ...(workspace === undefined ? {} : { workspace }),
    record: {
      id,
      owner: actor,
      taskId,
      callId,
      name,
      mediaType,
      size: written?.size ?? 0,
      ...(written === undefined ? {} : { sha256: written.sha256 }),
      state: written === undefined ? 'live' : 'complete',
      dropped: 0,
      trust,
      pinned: false,
      sharedWith: [],
      createdAt: now,
      expiresAt: now + retentionDays * DAY_MS,
    },
  };
};

const keep = (
  ctx: ArchiveContext,
  index: TenantIndex,
  stored: StoredRecord,
  writer: BlobWriter,
): Promise<StoredArtifact> =>
  underArtifact(ctx, index.tenant, stored.record.id, async () => {
    const { id, size, sha256 = '' } = stored.record;
    // Another put of this id may have been faster.
    const present = index.get(id);
    if (present) return sameOrConflict(present, { size, sha256 });
    await keepBlob(ctx, index, writer, { sha256, size });
    await saveOrRelease(ctx, index, stored);
    ctx.events.about('artifact.stored', stored);
    return { id, size, sha256 };
  });

/** Without its record the bytes must go again; when it is not known whether the record stands, they stay until a restart. */
export const saveOrRelease = async (ctx: ArchiveContext, index: TenantIndex, stored: StoredRecord): Promise<void> => {
  const { id, sha256 = '' } = stored.record;
  try {
    await saveRecord(ctx, index, stored);
  } catch (thrown) {
    const isGone = await ctx.store.removeDocument(index.tenant, 'records', id).then(
      () => true,
      () => false,
    );
    if (isGone) await releaseBlob(ctx, index, sha256).catch(() => {});
    throw thrown;
  }
};

/** The digest of the bytes, of which more than `most` are not looked at: they are others anyway. */
const digestUpTo = async (chunks: AsyncIterable<Uint8Array>, most: number): Promise<Written> => {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > most) break;
    hash.update(chunk);
  }
  return { size, sha256: hash.digest('hex') };
};

const sameOrConflict = ({ record }: StoredRecord, { size, sha256 }: Written): StoredArtifact => {
  if (record.state === 'complete' && record.sha256 === sha256 && record.size === size) {
    return { id: record.id, size, sha256 };
  }
  throw new FabricError('conflict', 'other bytes stand under this name of the call');
};
