import { readFileSync } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import type { Driver } from '../driver.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { repositoryOf } from './git-directory.ts';
import { runGit } from './run-git.ts';

const MOST_BYTES = 1024 * 1024;

/** What git says, up to a megabyte. */
export const askGit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  args: readonly string[],
): Promise<string> => {
  const parts: Buffer[] = [];
  let size = 0;
  await runGit(driver, workspace, ctx, args, (chunk) => {
    parts.push(chunk);
    size += chunk.length;
    return size > MOST_BYTES ? 'enough' : 'more';
  });
  return Buffer.concat(parts).subarray(0, MOST_BYTES).toString('utf8');
};

export const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** The commit that a full name of a ref leads to; undefined where there is none. */
export const readRef = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  ref: string,
): Promise<string | undefined> => {
  const text = await askGit(driver, workspace, ctx, ['for-each-ref', '--format=%(objectname) %(refname)', ref]);
  const line = text.split('\n').find((one) => one.endsWith(` ${ref}`));
  return line?.split(' ', 1)[0];
};

/** The branch that the workspace is on, by its full name. Throws where it is on none. */
export const headRef = ({ root }: OpenWorkspace): string => {
  const text = readFileSync(`${repositoryOf(root)}/HEAD`, 'utf8').trim();
  const ref = /^ref: (refs\/heads\/\S{1,300})$/.exec(text)?.[1];
  if (ref !== undefined) return ref;
  throw new FabricError('tool_failed', 'the workspace is on no branch', { hint: 'Make a branch with git.branch.' });
};

const PART = /^(?!\.)(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9._+=-]{1,100}$/;

/** A name of a branch as every git takes it, and that no option can be made of. Throws `invalid_arguments`. */
export const branchRef = (name: string, field: string): string => {
  const parts = name.split('/');
  const isGood =
    name.length <= 200 && !name.startsWith('-') && parts.every((part) => PART.test(part) && !part.endsWith('.'));
  if (isGood && name !== 'HEAD') return `refs/heads/${name}`;
  throw new FabricError('invalid_arguments', `${field}: not the name of a branch`, {
    fields: [{ field: `/${field}`, expected: 'letters, digits, ".", "_", "+", "=", "-", and "/" between parts' }],
  });
};

/** The author is the person, the committer their agent; characters that git's own format takes are left out. */
export const identityEnv = ({ actor }: ToolContext, at: number): Record<string, string> => {
  const plain = (text: string) => text.replace(/[\p{C}<>]/gu, '').trim() || 'unknown';
  const mail = (text: string) =>
    /^[^\s@<>]+@[^\s@<>]+$/.test(text) ? text : `${encodeURIComponent(text)}@toolfabric.invalid`;
  const date = `@${at} +0000`;
  return {
    GIT_AUTHOR_NAME: plain(actor.user),
    GIT_AUTHOR_EMAIL: mail(actor.user),
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: plain(`${actor.agent} for ${actor.user}`),
    GIT_COMMITTER_EMAIL: mail(actor.user),
    GIT_COMMITTER_DATE: date,
  };
};
