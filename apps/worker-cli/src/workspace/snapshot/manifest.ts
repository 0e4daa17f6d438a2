import { ArtifactId, Outcome, Sha256 } from '@toolfabric/contract';
import { z } from 'zod';
import { HISTORY, MOST_PACKS } from './snapshot-limits.ts';

/** Paths and link targets are bytes; each one stands as the character of that number (latin1). */
export type BytePath = string;

export interface FileEntry {
  readonly type: 'file';
  readonly path: BytePath;
  /** Permission bits. */
  readonly mode: number;
  /** Milliseconds since the epoch. */
  readonly mtime: number;
  readonly size: number;
  readonly sha256: string;
  /** Where its bytes are: a pack by its number, or `INLINE`. */
  readonly pack: number;
  readonly offset: number;
}

export interface DirectoryEntry {
  readonly type: 'directory';
  readonly path: BytePath;
  readonly mode: number;
}

export interface LinkEntry {
  readonly type: 'link';
  readonly path: BytePath;
  readonly target: BytePath;
}

export type Entry = FileEntry | DirectoryEntry | LinkEntry;

/** The pack of what stands in the same artifact as the list. */
export const INLINE = -1;

/** Stored bytes that files lie in, one behind the other. */
export const Pack = z.strictObject({
  id: ArtifactId,
  /** Where in the artifact they begin. */
  start: z.int().nonnegative(),
  size: z.int().nonnegative(),
});
export type Pack = z.infer<typeof Pack>;

/** One of the snapshots before. */
export const Ancestor = z.strictObject({
  generation: z.int().positive(),
  manifest: ArtifactId,
  callId: z.string(),
  epoch: z.int().positive(),
});
export type Ancestor = z.infer<typeof Ancestor>;

export const ManifestHeader = z.strictObject({
  workspace: z.string(),
  generation: z.int().positive(),
  /** The call whose effect it holds. */
  callId: z.string(),
  epoch: z.int().positive(),
  /** The whole list that this one only lists the differences to. */
  base: z.strictObject({ id: ArtifactId, sha256: Sha256 }).optional(),
  packs: z.array(Pack).max(MOST_PACKS),
  /** Bytes of content behind the list. */
  inline: z.int().nonnegative(),
  /** Newest last. */
  history: z.array(Ancestor).max(HISTORY),
  /** How the call ended, for whoever has to find out. */
  receipt: Outcome.optional(),
});
export type ManifestHeader = z.infer<typeof ManifestHeader>;

/** One snapshot, with the whole list of its entries. */
export interface Snapshot {
  readonly id: string;
  readonly header: ManifestHeader;
  /** By path. */
  readonly entries: ReadonlyMap<BytePath, Entry>;
  /** Packs of `entries`, by number. */
  readonly packs: readonly Pack[];
  /** The whole list that later differences may build on. */
  readonly base: {
    readonly id: string;
    readonly sha256: string;
    readonly entries: ReadonlyMap<BytePath, Entry>;
    /** Packs of these entries, by number. */
    readonly packs: readonly Pack[];
  };
}

export const parentOf = (path: BytePath): BytePath => path.slice(0, Math.max(0, path.lastIndexOf('/')));

const sameContent = (a: FileEntry, b: FileEntry): boolean => a.size === b.size && a.sha256 === b.sha256;

/** Whether restoring one or the other gives the same; where the bytes are stored does not matter. */
export const isSameEntry = (a: Entry | undefined, b: Entry | undefined): boolean => {
  if (a === undefined || b === undefined || a.type !== b.type || a.path !== b.path) return false;
  if (a.type === 'link') return a.target === (b as LinkEntry).target;
  if (a.mode !== (b as FileEntry).mode) return false;
  return a.type === 'directory' || (a.mtime === (b as FileEntry).mtime && sameContent(a, b as FileEntry));
};
