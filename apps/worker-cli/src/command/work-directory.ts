import { FabricError } from '@toolfabric/kernel';
import { findOccupied } from '../workspace/find-place.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import { pathOf } from '../workspace/place.ts';

/** The resolved directory in which a command runs, relative to the workspace root; empty for the root itself. */
export const resolveWorkDirectory = async (workspace: OpenWorkspace, path: string): Promise<string> => {
  const place = await findOccupied(workspace.root, path);
  await place.close();
  if (place.entry.kind === 'directory') return pathOf(place);
  throw new FabricError('not_a_file', `${showPath(path)} is not a directory`, {
    hint: 'Name a directory of the workspace.',
  });
};
