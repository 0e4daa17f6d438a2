import { createHash } from 'node:crypto';
import { mayAccess } from '../workspace/access.ts';
import type { OpenRoot } from '../workspace/open-root.ts';
import { type Changes, compareScans } from './compare.ts';
import type { Contents } from './contents.ts';
import { locateBelow } from './locate.ts';
import { measureTree } from './measure-tree.ts';
import { type Mark, scanTree, type TreeScan } from './scan-tree.ts';

/** Things of a workspace that are looked at. */
export const MOST_ENTRIES = 50_000;
const MOST_FILES_NAMED = 100;

export interface Before {
  readonly scan: TreeScan;
  readonly contents: Contents;
  /** Bytes that the workspace takes on its disk. */
  readonly bytes: number;
}

const readable =
  ({ owner }: OpenRoot) =>
  (mark: Mark) =>
    mayAccess(mark.stats, owner, 'read');

/** Looks at a workspace before a command runs in it, and remembers what its text files hold. */
export const lookBefore = async (root: OpenRoot, contents: Contents): Promise<Before> => {
  const mayRead = readable(root);
  const visit = (path: string, mark: Mark, at: string) => {
    if (mayRead(mark)) contents.take(path, mark, at);
  };
  const scan = await scanTree(root.handle.fd, { entries: MOST_ENTRIES, visit });
  contents.keepOnly(scan.marks);
  return { scan, contents, bytes: await bytesOf(root, scan) };
};

export interface After {
  readonly scan: TreeScan;
  readonly changes: Changes;
  readonly bytes: number;
}

/** What a scan leaves out takes room all the same. */
const bytesOf = async (root: OpenRoot, scan: TreeScan): Promise<number> =>
  scan.complete ? scan.bytes : await measureTree(root.handle.fd);

export const lookAfter = async (root: OpenRoot, { scan, contents }: Before, diffBytes: number): Promise<After> => {
  const after = await scanTree(root.handle.fd, { entries: MOST_ENTRIES });
  const changes = compareScans({
    before: scan,
    after,
    contents,
    locate: (path) => locateBelow(root.handle.fd, path),
    mayRead: readable(root),
    files: MOST_FILES_NAMED,
    diffBytes,
  });
  return { scan: after, changes, bytes: await bytesOf(root, after) };
};

/** Bytes that a workspace takes on its disk. */
export const sizeOf = async (root: OpenRoot): Promise<number> =>
  bytesOf(root, await scanTree(root.handle.fd, { entries: MOST_ENTRIES }));

/** Equal for equal trees: what tells whether anything at all happened. */
export const digestOf = ({ marks, git }: TreeScan): string => {
  const hash = createHash('sha256');
  for (const map of [marks, git]) {
    for (const path of [...map.keys()].sort()) hash.update(`${path}\0${map.get(path)?.stamp}\0`);
  }
  return hash.digest('hex');
};
