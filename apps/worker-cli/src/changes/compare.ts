import { unifiedDiff } from '../edit/unified-diff.ts';
import { type Content, type Contents, readContent } from './contents.ts';
import type { Mark, TreeScan } from './scan-tree.ts';

export interface Change {
  readonly path: string;
  readonly change: 'created' | 'modified' | 'deleted';
  readonly beforeSha256?: string;
  readonly afterSha256?: string;
}

export interface Changes {
  readonly files: readonly Change[];
  /** Every path that is other than before, up to a number. */
  readonly paths: readonly string[];
  /** Files whose content is the same, and that were written or touched all the same, are not counted. */
  readonly total: number;
  /** The whole tree was looked at, before and after. */
  readonly complete: boolean;
  /** Files below `.git` that are others now. */
  readonly git: number;
  /** Of the text files that were small enough, at most `diffBytes` bytes. */
  readonly diff: string;
  readonly diffTotal: number;
}

export interface Comparing {
  readonly before: TreeScan;
  readonly after: TreeScan;
  /** What the files held before. */
  readonly contents: Contents;
  /** A path to what stands at a path of the tree, through the root that is held open; undefined when it has moved. */
  readonly locate: (path: string) => { at: string; close(): void } | undefined;
  /** Whether the content may be shown. */
  readonly mayRead: (mark: Mark) => boolean;
  readonly files: number;
  readonly diffBytes: number;
}

/** Bytes of diff that are made at most, shown or not. */
const MOST_DIFF = 512 * 1024;

/** Milliseconds for the smallest diffs of all files together: the worker does nothing else meanwhile. */
const MOST_DIFF_MS = 500;
/** Of which one file may take so many. */
const SMALLEST_MS = 200;

const MOST_PATHS = 5_000;

const textOf = (content: Content | undefined): string | undefined => {
  if (content === undefined || content.bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content.bytes);
  } catch {
    return undefined;
  }
};

const contentAfter = ({ locate, mayRead }: Comparing, path: string, mark: Mark): Content | undefined => {
  if (!mayRead(mark)) return undefined;
  const place = locate(path);
  if (place === undefined) return undefined;
  try {
    return readContent(place.at, mark);
  } finally {
    place.close();
  }
};

const kindOf = (before: Mark | undefined, after: Mark | undefined): Change['change'] =>
  before === undefined ? 'created' : after === undefined ? 'deleted' : 'modified';

const differing = (before: ReadonlyMap<string, Mark>, after: ReadonlyMap<string, Mark>): string[] => {
  const paths = [...after].filter(([path, mark]) => before.get(path)?.stamp !== mark.stamp).map(([path]) => path);
  return [...paths, ...[...before.keys()].filter((path) => !after.has(path))].sort();
};

class Differ {
  text = '';
  total = 0;
  readonly #most: number;
  #leftMs = MOST_DIFF_MS;

  constructor(most: number) {
    this.#most = most;
  }

  add(path: string, before: string | undefined, after: string | undefined): void {
    if (this.total > MOST_DIFF || (before === undefined && after === undefined)) return;
    const begun = performance.now();
    const diff = unifiedDiff({ path, before, after, timeoutMs: Math.min(SMALLEST_MS, Math.max(0, this.#leftMs)) });
    this.#leftMs -= performance.now() - begun;
    this.total += Buffer.byteLength(diff);
    if (Buffer.byteLength(this.text) < this.#most) this.text += diff;
  }
}

/** What a command did to the files of its workspace, told by two scans and the contents. */
export const compareScans = (comparing: Comparing): Changes => {
  const { before, after, contents } = comparing;
  const files: Change[] = [];
  const differ = new Differ(comparing.diffBytes);
  let total = 0;
  const paths = differing(before.marks, after.marks);
  for (const path of paths) {
    const [old, now] = [before.marks.get(path), after.marks.get(path)];
    const known = old === undefined ? undefined : contents.get(path);
    const had = known !== undefined && known.stamp === old?.stamp ? known : undefined;
    const look = now !== undefined && total < comparing.files;
    const has = look ? contentAfter(comparing, path, now) : undefined;
    if (had !== undefined && has !== undefined && had.sha256 === has.sha256 && old?.kind === now?.kind) continue;
    total += 1;
    if (total > comparing.files) continue;
    files.push({
      path,
      change: kindOf(old, now),
      ...(had === undefined ? {} : { beforeSha256: had.sha256 }),
      ...(has === undefined ? {} : { afterSha256: has.sha256 }),
    });
    const isText = (old === undefined || textOf(had) !== undefined) && (now === undefined || textOf(has) !== undefined);
    if (isText) differ.add(path, textOf(had), textOf(has));
  }
  return {
    files,
    paths: paths.slice(0, MOST_PATHS),
    total,
    complete: before.complete && after.complete,
    git: differing(before.git, after.git).length,
    diff: differ.text,
    diffTotal: differ.total,
  };
};
