import { lost } from './lost.ts';
import { type BytePath, type Entry, type FileEntry, INLINE, type Pack, parentOf } from './manifest.ts';
import {
  MOST_DEPTH,
  MOST_LINK_BYTES,
  MOST_NAME_BYTES,
  MOST_PATH_BYTES,
  type SnapshotLimits,
} from './snapshot-limits.ts';

const isName = (part: string): boolean =>
  part !== '' && part !== '.' && part !== '..' && part.length <= MOST_NAME_BYTES && !part.includes('\0');

const isBytes = (text: string): boolean => {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 255) return false;
  return true;
};

/** A path that leads down from the root by ordinary names, and nowhere else. */
export const isPlainPath = (path: BytePath): boolean => {
  if (path.length > MOST_PATH_BYTES || !isBytes(path)) return false;
  const parts = path.split('/');
  return parts.length <= MOST_DEPTH && parts.every(isName);
};

const checkTarget = (target: string): void => {
  if (target === '' || target.length > MOST_LINK_BYTES || target.includes('\0') || !isBytes(target)) {
    throw lost('a link in it leads to what is no path');
  }
};

const checkFile = (file: FileEntry, packs: readonly Pack[]): void => {
  const pack = packs[file.pack];
  if (file.pack === INLINE || pack === undefined || file.offset + file.size > pack.size) {
    throw lost('a file of it lies outside of what was stored');
  }
};

/**
 * Whoever wrote the list may mean harm: every path stays beneath the root, is there once, and lies in a directory that
 * the list has itself, never in a link. Throws `workspace_lost`.
 */
export const checkEntries = (
  entries: ReadonlyMap<BytePath, Entry>,
  packs: readonly Pack[],
  limits: SnapshotLimits,
): void => {
  if (entries.size > limits.entries) throw lost('it has more entries than a workspace may have');
  let bytes = 0;
  for (const entry of entries.values()) {
    if (!isPlainPath(entry.path)) throw lost('a path in it leads out of the workspace');
    const parent = parentOf(entry.path);
    if (parent !== '' && entries.get(parent)?.type !== 'directory') throw lost('a path in it lies in no directory');
    if (entry.type === 'link') checkTarget(entry.target);
    if (entry.type !== 'file') continue;
    checkFile(entry, packs);
    bytes += entry.size;
  }
  if (bytes > limits.bytes) throw lost('it is larger than a workspace may be');
};
