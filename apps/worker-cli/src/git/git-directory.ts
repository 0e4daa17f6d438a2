import { lstatSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FabricError } from '@toolfabric/kernel';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { descriptorPath, type OpenRoot } from '../workspace/open-root.ts';
import { objectFormat } from './object-format.ts';

/** Where git finds its repository inside, and where the one of the workspace is seen. */
export const GIT_DIRECTORY = '/gitdir';
const THERE = '/workspace/.git';
const SHA256_CONFIG = fileURLToPath(new URL('./sha256.gitconfig', import.meta.url));

/** Parts of a repository that are data. Its configuration, its hooks and its attributes are not among them. */
const PARTS = [
  'objects',
  'refs',
  'packed-refs',
  'logs',
  'shallow',
  'index',
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
];
const INFO = ['exclude', 'sparse-checkout'];
const MOST_SHARED = 10;

const none = (why: string): FabricError =>
  new FabricError('file_not_found', why, { hint: 'Use a workspace that holds a git repository of its own.' });

const link = (part: string): string[] => ['--symlink', `${THERE}/${part}`, `${GIT_DIRECTORY}/${part}`];

export interface GitDirectory {
  readonly binds: readonly Bind[];
  /** Bubblewrap arguments. */
  readonly arrange: readonly string[];
}

/** Path of the repository of a workspace, which lies in it and has a HEAD. Throws `file_not_found`. */
export const repositoryOf = (root: OpenRoot): string => {
  const at = `${descriptorPath(root.handle)}/.git`;
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined) throw none('the workspace is no git repository');
  if (!stats.isDirectory()) throw none('the repository of this workspace lies outside of it');
  if (!lstatSync(`${at}/HEAD`, { throwIfNoEntry: false })?.isFile()) throw none('the repository has no HEAD');
  return at;
};

/**
 * A repository made of the data of the one in the workspace and of nothing else: what its configuration, its hooks and
 * its attributes would start cannot even be read. Throws `file_not_found`.
 */
export const gitDirectory = (root: OpenRoot): GitDirectory => {
  const at = repositoryOf(root);
  const shared = readdirSync(at).filter((name) => /^sharedindex\.[0-9a-f]{40,64}$/.test(name));
  const arrange = [
    '--dir',
    `${GIT_DIRECTORY}/info`,
    ...PARTS.filter((part) => lstatSync(`${at}/${part}`, { throwIfNoEntry: false }) !== undefined).flatMap(link),
    ...INFO.map((name) => `info/${name}`).flatMap(link),
    ...shared.slice(0, MOST_SHARED).flatMap(link),
  ];
  // Git takes no link for it.
  const head = { source: `${root.path}/.git/HEAD`, target: `${GIT_DIRECTORY}/HEAD`, writable: false };
  const config = { source: SHA256_CONFIG, target: `${GIT_DIRECTORY}/config`, writable: false };
  return { binds: objectFormat(at) === 'sha256' ? [head, config] : [head], arrange };
};
