import { type Dirent, lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';
import { folderAddress } from './folder-address.ts';
import type { FolderLimits } from './folder-limits.ts';

/** Why something in a folder was not read. */
export type LeftOut = 'symlinks' | 'not_text' | 'too_large' | 'too_many' | 'too_deep' | 'unreadable';

export interface FileSeen {
  /** Below the folder, with `/` between its parts. */
  readonly path: string;
  readonly size: number;
  /** Changes whenever the file does, as far as its file system can tell. */
  readonly stamp: string;
}

/** Characters of an address: what is longer could not be told. */
const MOST_ADDRESS = 2_000;

const TEXT = /\.(?:md|markdown|mdx|txt|text|rst|adoc|asciidoc|org|tex|html?|xhtml|csv|tsv|json|ya?ml|toml|xml|log)$/i;

/** At most so many entries, in the order of their names; undefined for a folder that cannot be read. */
const entriesOf = (folder: string, most: number): Dirent[] | undefined => {
  const entries: Dirent[] = [];
  try {
    const open = opendirSync(folder, { bufferSize: 256 });
    try {
      for (let entry = open.readSync(); entry !== null && entries.length < most; entry = open.readSync())
        entries.push(entry);
    } finally {
      open.closeSync();
    }
  } catch {
    return undefined;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
};

const stampOf = (full: string): { size: number; stamp: string } | undefined => {
  try {
    const { size, mtimeNs, ctimeNs, ino } = lstatSync(full, { bigint: true });
    return { size: Number(size), stamp: `${ino}.${size}.${mtimeNs}.${ctimeNs}` };
  } catch {
    return undefined;
  }
};

/**
 * Every text file of a folder, in the order of their names, folder by folder. Hidden files and folders are passed over;
 * links are never followed. What its limits leave out is counted. Yields undefined after each folder.
 */
export function* walkFolder(
  root: string,
  limits: FolderLimits,
  leave: (why: LeftOut) => void,
): Generator<FileSeen | undefined, void> {
  let [files, bytes, left] = [0, 0, limits.entries];
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { path: below, depth } = at;
    const found = entriesOf(join(root, below), left + 1);
    if (found === undefined) leave('unreadable');
    const entries = found?.slice(0, left) ?? [];
    if (found !== undefined && found.length > left) leave('too_many');
    left -= entries.length;
    const folders: string[] = [];
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isSymbolicLink()) leave('symlinks');
      else if (folderAddress(path).length > MOST_ADDRESS) leave('too_deep');
      else if (entry.isDirectory()) folders.push(path);
      else if (!entry.isFile() || !TEXT.test(entry.name)) leave('not_text');
      else {
        const seen = stampOf(join(root, path));
        if (seen === undefined) leave('unreadable');
        else if (seen.size > limits.fileBytes) leave('too_large');
        else if (files >= limits.files || bytes + seen.size > limits.bytes) leave('too_many');
        else {
          files += 1;
          bytes += seen.size;
          yield { path, ...seen };
        }
      }
    }
    if (depth + 1 > limits.depth) for (const _ of folders) leave('too_deep');
    else for (const path of folders.toReversed()) waiting.push({ path, depth: depth + 1 });
    yield undefined;
  }
}
