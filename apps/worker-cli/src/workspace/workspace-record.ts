import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceSource } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Layout } from './layout.ts';

const Identity = z.strictObject({ uid: z.int().nonnegative(), gid: z.int().nonnegative() });

/** What was made for a workspace; stored outside of it once it is whole. */
export const WorkspaceRecord = z.strictObject({
  id: z.string(),
  source: WorkspaceSource,
  /** Real path of its root. */
  root: z.string(),
  /** Device and inode of its root: another directory put in its place is not the workspace. */
  identity: z.string(),
  /** Whose files they are: new files get this owner, and nothing is read that this user may not read. */
  owner: Identity,
  /** Who its children run as; left out where the worker is not root. */
  child: Identity.optional(),
  /** Name of its lock file. Two tasks on one existing directory share it. */
  lock: z.string(),
});
export type WorkspaceRecord = z.infer<typeof WorkspaceRecord>;

/** Ids come from the router; what is none can name no file. */
const WORKSPACE_ID = /^[a-z0-9][a-z0-9_-]{0,80}$/;
export const isWorkspaceId = (id: string): boolean => WORKSPACE_ID.test(id);

const recordFile = (layout: Layout, id: string): string => join(layout.records, `${id}.json`);

/** Undefined when there is none. A record changes only when its workspace is restored from a snapshot. */
export const readRecord = async (layout: Layout, id: string): Promise<WorkspaceRecord | undefined> => {
  if (!isWorkspaceId(id)) return undefined;
  try {
    return WorkspaceRecord.parse(JSON.parse(await readFile(recordFile(layout, id), 'utf8')));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
};

/** Stored whole or not at all. */
export const writeRecord = async (layout: Layout, record: WorkspaceRecord): Promise<void> => {
  const file = recordFile(layout, record.id);
  const aside = `${file}.${randomId()}`;
  try {
    await using handle = await open(aside, 'wx', 0o600);
    await handle.writeFile(JSON.stringify(record));
    await handle.sync();
    await rename(aside, file);
  } catch (thrown) {
    await rm(aside, { force: true });
    throw thrown;
  }
};

export const removeRecord = (layout: Layout, id: string): Promise<void> => rm(recordFile(layout, id), { force: true });
