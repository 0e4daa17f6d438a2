import { FabricError } from '@toolfabric/kernel';
import { findOccupied } from '../workspace/find-place.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import { pathOf } from '../workspace/place.ts';

/**
 * The resolved path of a file or directory to search, links followed. What the search itself is shown is decided by
 * its sandbox, which holds nothing but the workspace.
 */
export const resolveSearchPath = async (workspace: OpenWorkspace, path: string): Promise<string> => {
  const place = await findOccupied(workspace.root, path);
  const { kind } = place.entry;
  await place.close();
  if (kind !== 'other') return pathOf(place);
  throw new FabricError('not_a_file', `${showPath(path)} is neither a file nor a directory`);
};
