import { chown, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

/** A file in a workspace that belongs to its user, as if its children had made it. */
export const putFile = async (
  { root, owner }: Pick<WorkspaceRecord, 'root' | 'owner'>,
  path: string,
  content: string | Uint8Array,
): Promise<string> => {
  const file = join(root, path);
  const made = await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  if (process.getuid?.() !== 0) return file;
  for (let at = dirname(file); made !== undefined && at.startsWith(made); at = dirname(at)) {
    await chown(at, owner.uid, owner.gid);
  }
  await chown(file, owner.uid, owner.gid);
  return file;
};
