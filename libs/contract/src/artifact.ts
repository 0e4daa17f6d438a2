import { z } from 'zod';
import { Actor, Sha256, Token } from './identity.ts';

/** `a-` and 26 characters of a hash: who stored it under which name decides the id, so that a repeated write finds it. */
export const ArtifactId = z.string().regex(/^a-[0-9a-hjkmnp-tv-z]{26}$/, 'an artifact id');
export type ArtifactId = z.infer<typeof ArtifactId>;

export const PERMIT_TYPE = 'toolfabric/artifact-permit/1';

/** Free text that stands in a header or a listing; never a path. */
const Name = z.string().min(1).max(200);
const MediaType = z.string().max(200);

/** A user, an agent, or both of the same tenant; a field that is left out means every one. At least one is named. */
export const Share = z.strictObject({ user: z.string().max(200).optional(), agent: z.string().max(200).optional() });
export type Share = z.infer<typeof Share>;

/**
 * A router's signed leave to use the artifact store. `call` is for the worker of one epoch: it may write what belongs
 * to that call, and read and move the snapshots of its workspace. The others are for the front door, as an actor: who
 * may see or change one artifact is checked by the store against its owner at every request.
 */
export const ArtifactPermit = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('call'),
    actor: Actor,
    taskId: z.string(),
    callId: z.string(),
    epoch: z.int().positive(),
    /** Id of the workspace whose snapshots it may read and write. */
    workspace: z.string().optional(),
    /** Bytes that all writes of the call may take together, snapshots not counted. */
    maxBytes: z.int().positive(),
    /** Days that what is written is kept. */
    retentionDays: z.int().positive(),
    /** Milliseconds since the epoch. */
    expires: z.int(),
  }),
  z.strictObject({ action: z.literal('read'), actor: Actor, artifactId: ArtifactId, expires: z.int() }),
  z.strictObject({ action: z.literal('manage'), actor: Actor, artifactId: ArtifactId, expires: z.int() }),
  z.strictObject({ action: z.literal('list'), actor: Actor, expires: z.int() }),
]);
export type ArtifactPermit = z.infer<typeof ArtifactPermit>;

/** What is known of stored bytes. */
export const ArtifactRecord = z.strictObject({
  id: ArtifactId,
  owner: Actor,
  taskId: z.string(),
  callId: z.string(),
  name: Name,
  mediaType: MediaType,
  /** Bytes that can be read. */
  size: z.int().nonnegative(),
  /** Of a complete one. */
  sha256: Sha256.optional(),
  /** `live` is a log that still grows; it is complete once it is closed, or lost when its writer is. */
  state: z.enum(['live', 'complete']),
  /** Its writer ended without closing it: the stream may have had more. */
  lost: z.literal(true).optional(),
  /** Bytes that the stream had and that were not kept, from `gapAt` on. */
  dropped: z.int().nonnegative(),
  gapAt: z.int().nonnegative().optional(),
  trust: z.enum(['trusted', 'untrusted']),
  pinned: z.boolean(),
  sharedWith: z.array(Share).max(32),
  /** Milliseconds since the epoch. */
  createdAt: z.int(),
  expiresAt: z.int(),
});
export type ArtifactRecord = z.infer<typeof ArtifactRecord>;

/** The newest snapshot of a workspace; moved by compare-and-set on `generation`, which is the fence of its writers. */
export const WorkspaceHead = z.strictObject({
  workspace: z.string(),
  tenant: Token,
  generation: z.int().nonnegative(),
  /** The manifest of that generation; none before the first snapshot. */
  manifest: ArtifactId.optional(),
});
export type WorkspaceHead = z.infer<typeof WorkspaceHead>;
