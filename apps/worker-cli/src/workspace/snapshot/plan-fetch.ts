import { lost } from './lost.ts';
import type { FileEntry, Pack, Snapshot } from './manifest.ts';

/** Bytes between two wanted contents that are read along rather than asked for apart. */
const GAP_BYTES = 64 * 1024;
/** Bytes of one request. */
const MOST_BYTES = 32 * 1024 ** 2;

/** One content and every file that has it. */
export interface WantedContent {
  readonly offset: number;
  readonly size: number;
  readonly files: readonly FileEntry[];
}

/** One request to the store: contents of one pack, in their order. */
export interface Fetch {
  readonly pack: Pack;
  readonly contents: readonly WantedContent[];
}

const byOffset = (files: readonly FileEntry[]): WantedContent[] => {
  const contents = new Map<string, { offset: number; size: number; files: FileEntry[] }>();
  for (const file of files) {
    const key = `${file.offset}.${file.size}.${file.sha256}`;
    const known = contents.get(key);
    if (known) known.files.push(file);
    else contents.set(key, { offset: file.offset, size: file.size, files: [file] });
  }
  return [...contents.values()].sort((a, b) => a.offset - b.offset || a.size - b.size);
};

const split = (pack: Pack, contents: readonly WantedContent[]): Fetch[] => {
  const fetches: WantedContent[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  let bytes = 0;
  for (const content of contents) {
    if (content.offset < end) throw lost('two files of it lie in each other');
    const present = fetches.at(-1);
    if (present === undefined || content.offset > end + GAP_BYTES || bytes + content.size > MOST_BYTES) {
      fetches.push([content]);
      bytes = content.size;
    } else {
      present.push(content);
      bytes += content.size;
    }
    end = content.offset + content.size;
  }
  return fetches.map((group) => ({ pack, contents: group }));
};

/** What has to be asked for so that every file gets its bytes. Throws `workspace_lost` for contents that overlap. */
export const planFetches = (snapshot: Pick<Snapshot, 'packs'>, files: readonly FileEntry[]): Fetch[] => {
  const byPack = new Map<number, FileEntry[]>();
  for (const file of files) {
    const some = byPack.get(file.pack);
    if (some) some.push(file);
    else byPack.set(file.pack, [file]);
  }
  return [...byPack].flatMap(([number, some]) => {
    const pack = snapshot.packs[number];
    if (pack === undefined) throw lost('a file of it lies outside of what was stored');
    return split(pack, byOffset(some));
  });
};
