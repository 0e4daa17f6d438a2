import { lstatSync, type Stats } from 'node:fs';
import { type WritablePlaces, writablePlaces } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { makeDirectories } from '../workspace/make-directories.ts';
import { descriptorPath, type OpenRoot } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { pathParts, showPath } from '../workspace/path-parts.ts';
import { isGitName } from '../workspace/reserved-names.ts';

const refused = (why: string): FabricError => new FabricError('constraint_violated', why);

/** What stands at that path, when every directory above it is one of the workspace and no link. */
const statOf = (root: OpenRoot, path: string): Stats | undefined => {
  let at = descriptorPath(root.handle);
  let stats: Stats | undefined;
  for (const part of pathParts(path)) {
    if (stats !== undefined && !stats.isDirectory())
      throw refused(
        `${showPath(path)} is writable in this task, and what is above it is no directory but a link or a file`,
      );
    at = `${at}/${part}`;
    stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
  }
  return stats;
};

const isDirectory = (root: OpenRoot, path: string): boolean => {
  const stats = statOf(root, path);
  if (stats === undefined) return false;
  if (!stats.isDirectory())
    throw refused(`${showPath(path)} is writable in this task as a directory, and is a link or a file`);
  return true;
};

/** A file that is not there cannot be shown, and so a command cannot make it. */
const isFile = (root: OpenRoot, path: string): boolean => {
  const stats = statOf(root, path);
  if (stats === undefined) return false;
  if (!stats.isFile()) throw refused(`${showPath(path)} is writable in this task as a file, and is a link or no file`);
  return true;
};

const notOfGit = (path: string): boolean => !path.split('/').some(isGitName);

/** What the places of a task come to in a workspace, without any repository. */
export interface StandingPlaces extends WritablePlaces {
  /** Directories among the places that are not there yet. */
  readonly missing: readonly string[];
}

/** Throws `constraint_violated` where a place is, or lies behind, a link or something else than the task says. */
export const standingPlaces = (root: OpenRoot, globs: readonly string[]): StandingPlaces => {
  const places = writablePlaces(globs);
  if (places === undefined) throw refused('a command cannot be kept to what this task names as writable');
  const directories = places.directories.filter(notOfGit);
  return {
    directories,
    files: places.files.filter((path) => notOfGit(path) && isFile(root, path)),
    missing: directories.filter((path) => path !== '' && !isDirectory(root, path)),
  };
};

/** What may be written below a directory may be written with it. An effect: to be done once that has begun. */
export const makeMissing = async ({ root, record }: OpenWorkspace, { missing }: StandingPlaces): Promise<void> => {
  for (const path of missing) {
    const place = await makeDirectories(root, `${path}/x`, record.owner);
    await place.close();
    if (!isDirectory(root, path)) throw refused(`${showPath(path)} does not stay in place`);
  }
};

/**
 * The workspace of a task as its commands see it (PO-9): read-only, and above that each place that may be written,
 * mounted by itself. So nothing is linked or moved from one place into another one, and no place is itself exchanged.
 */
export const workspaceBinds = (root: OpenRoot, inside: string, places: WritablePlaces | undefined): Bind[] => {
  const isWhole = places === undefined || places.directories.includes('');
  const shown = isWhole ? [] : [...places.directories, ...places.files];
  return [
    { source: root.path, target: inside, writable: isWhole },
    ...shown.map((path) => ({ source: `${root.path}/${path}`, target: `${inside}/${path}`, writable: true })),
  ];
};
