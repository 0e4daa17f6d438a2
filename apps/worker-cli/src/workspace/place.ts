import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

export type EntryKind = 'file' | 'directory' | 'other';

/** What stands at a place. */
export interface Entry {
  readonly kind: EntryKind;
  readonly stats: Stats;
  /** Opens exactly the thing that was found, for reading; never blocks on a pipe or a device. */
  open(): Promise<FileHandle>;
}

/**
 * A place beneath a workspace root. It was reached part by part; links on the way led nowhere else.
 *
 * Invariant P1: `directory` is the directory that was walked into, not a name that can be put elsewhere meanwhile, so
 * whatever is done at `join(directory, name)` is done beneath the root (on Linux).
 */
export interface Place {
  /** Resolved parts beneath the root, links followed; empty for the root itself. */
  readonly parts: readonly string[];
  /** Absolute path of the parent directory, to be used while the place is open. */
  readonly directory: string;
  /** Last part; `.` for the root. */
  readonly name: string;
  /** Directories between `directory` and the file that do not exist. */
  readonly missing: readonly string[];
  /** Undefined when there is nothing. */
  readonly entry: Entry | undefined;
  close(): Promise<void>;
}

export const kindOf = (stats: Stats): EntryKind =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';

export const pathOf = (place: Pick<Place, 'parts'>): string => place.parts.join('/');
