import { ArtifactId, ArtifactRecord, WorkspaceHead } from '@toolfabric/contract';
import { z } from 'zod';

/** Names of artifacts that hold the state of a workspace begin so. */
export const SNAPSHOT_PREFIX = 'snapshot-';

/** Snapshots that one manifest can name. */
export const MAX_KEEPS = 8_192;

/** The record of an artifact with what only the store needs. */
export const StoredRecord = z.strictObject({
  format: z.literal(1),
  record: ArtifactRecord,
  /** Of the call that wrote it. */
  epoch: z.int().positive(),
  /** Of a snapshot. */
  workspace: z.string().optional(),
  /** Somebody read it through the front door: every later read is a re-read. */
  wasRead: z.boolean(),
  /** Of a log: its writer's permit ends here, in milliseconds since the epoch. */
  writableUntil: z.int().optional(),
});
export type StoredRecord = z.infer<typeof StoredRecord>;

/** The head of a workspace with the move that made it, so that the same move again finds itself. */
export const StoredHead = z.strictObject({
  format: z.literal(1),
  head: WorkspaceHead,
  movedBy: z.strictObject({ callId: z.string(), epoch: z.int().positive(), manifest: z.string().optional() }),
  /** Milliseconds since the epoch. */
  movedAt: z.int(),
  retentionDays: z.int().positive(),
  /** Snapshots that the manifest needs beside itself; all that there are when left out. */
  keeps: z.array(ArtifactId).max(MAX_KEEPS).optional(),
});
export type StoredHead = z.infer<typeof StoredHead>;

export const isSnapshot = ({ workspace }: Pick<StoredRecord, 'workspace'>): boolean => workspace !== undefined;
