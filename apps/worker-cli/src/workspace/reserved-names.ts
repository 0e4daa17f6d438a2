import { FabricError, randomId } from '@toolfabric/kernel';
import { showPath } from './path-parts.ts';

/** Temporary files of an edit begin with it; list, search, read and edit do not see them. */
export const TEMPORARY_PREFIX = '.toolfabric-tmp-';
const TEMPORARY = /^\.toolfabric-tmp-[0-9a-z]{26}$/;

export const temporaryName = (): string => `${TEMPORARY_PREFIX}${randomId()}`;
export const isTemporaryName = (name: string): boolean => TEMPORARY.test(name);

/** Characters that some file systems ignore in a name, or that hide what a name says. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/** `.git` in every spelling that some file system takes for it. */
export const isGitName = (name: string): boolean => {
  const folded = name
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');
  return folded === '.git' || folded === 'git~1' || folded.startsWith('.git:');
};

/** A name that reads as something else than it is, or that only looks like a path with directories. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const DECEPTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\\]/;

/** Hooks and configuration of a repository are code that later runs: nothing is written there. */
export const refuseGitDirectory = (parts: readonly string[]): void => {
  if (!parts.some(isGitName)) return;
  throw new FabricError('path_outside_workspace', `${showPath(parts.join('/'))} lies in a .git directory`, {
    hint: 'Files of the repository itself (.git) cannot be edited; edit files of the working tree.',
  });
};

/** Throws `invalid_arguments` for a new name that would deceive its reader. */
export const refuseDeceptiveNames = (parts: readonly string[]): void => {
  const bad = parts.find((part) => DECEPTIVE.test(part) || part.startsWith(TEMPORARY_PREFIX));
  if (bad === undefined) return;
  throw new FabricError('invalid_arguments', `a new file cannot be called ${showPath(bad)}`, {
    fields: [{ field: '/path', expected: 'names without control, invisible or direction characters and backslashes' }],
  });
};
