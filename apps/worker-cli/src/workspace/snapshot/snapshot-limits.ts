/** What a snapshot and a workspace that is kept in snapshots may take. */
export interface SnapshotLimits {
  /** Files, directories and links. */
  readonly entries: number;
  /** Bytes of all files. */
  readonly bytes: number;
}

export const SNAPSHOT_LIMITS: SnapshotLimits = { entries: 200_000, bytes: 16 * 1024 ** 3 };

export const MOST_DEPTH = 200;
export const MOST_PATH_BYTES = 4_096;
export const MOST_NAME_BYTES = 255;
export const MOST_LINK_BYTES = 4_096;

/** Bytes of content that stand beside the list in one artifact; more goes into packs of its own. */
export const INLINE_BYTES = 4 * 1024 ** 2;
/** Bytes after which the next file goes into another pack; a larger file has a pack for itself. */
export const PACK_BYTES = 64 * 1024 ** 2;
/** Packs of one snapshot. */
export const MOST_PACKS = 4_096;
/** A pack of which less is used is small; so many small ones are put together. */
export const SMALL_BYTES = 8 * 1024 ** 2;
export const MOST_SMALL_PACKS = 64;
/** Packs of which less than half is still used are put together, once so many bytes lie idle. */
export const IDLE_BYTES = 32 * 1024 ** 2;
/** Changed entries after which the whole list is written anew instead of the differences. */
export const MOST_DIFFERENCES = 256;
/** Snapshots that one remembers of those before it. */
export const HISTORY = 32;

/** Bytes of the list of one snapshot. */
export const MOST_LIST_BYTES = 96 * 1024 ** 2;
export const MOST_HEADER_BYTES = 1024 ** 2;
