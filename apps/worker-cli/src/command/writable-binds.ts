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

/** A directory that is missing is made: what may be written below it may be made with it. */
const needDirectory = async ({ root, record }: OpenWorkspace, path: string): Promise<void> => {
  if (statOf(root, path) === undefined) {
    const place = await makeDirectories(root, `${path}/x`, record.owner);
    await place.close();
  }
  if (statOf(root, path)?.isDirectory() !== true)
    throw refused(`${showPath(path)} is writable in this task as a directory, and is a link or a file`);
};

/** A file that is not there cannot be shown, and so a command cannot make it. */
const isFile = (root: OpenRoot, path: string): boolean => {
  const stats = statOf(root, path);
  if (stats === undefined) return false;
  if (!stats.isFile()) throw refused(`${showPath(path)} is writable in this task as a file, and is a link or no file`);
  return true;
};

const notOfGit = (path: string): boolean => !path.split('/').some(isGitName);

/** What the places of a task come to in this workspace: those that are there, or were made, and no repository. */
export const standingPlaces = async (workspace: OpenWorkspace, globs: readonly string[]): Promise<WritablePlaces> => {
  const places = writablePlaces(globs);
  if (places === undefined) throw refused('a command cannot be kept to what this task names as writable');
  const directories = places.directories.filter(notOfGit);
  for (const directory of directories) if (directory !== '') await needDirectory(workspace, directory);
  return { directories, files: places.files.filter((path) => notOfGit(path) && isFile(workspace.root, path)) };
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
