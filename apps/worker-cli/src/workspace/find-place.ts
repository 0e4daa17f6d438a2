import { FabricError } from '@toolfabric/kernel';
import { checkByRealPath } from './check-by-real-path.ts';
import { hasDescriptorPaths, type OpenRoot } from './open-root.ts';
import { showPath } from './path-parts.ts';
import type { Entry, Place } from './place.ts';
import { isTemporaryName } from './reserved-names.ts';
import { walkToPlace } from './walk.ts';

/** The place that `path` names beneath the root, whether or not something stands there. To be closed by the caller. */
export const findPlace: (root: OpenRoot, path: string) => Promise<Place> = hasDescriptorPaths
  ? walkToPlace
  : checkByRealPath;

export type OccupiedPlace = Place & { readonly entry: Entry };

/** As `findPlace`; throws `file_not_found` when nothing stands there, or only a temporary file of an edit. */
export const findOccupied = async (root: OpenRoot, path: string): Promise<OccupiedPlace> => {
  const place = await findPlace(root, path);
  const { entry } = place;
  if (entry !== undefined && !isTemporaryName(place.name)) return { ...place, entry };
  await place.close();
  throw new FabricError('file_not_found', `there is no ${showPath(path)} in the workspace`);
};
