import type { Outcome } from '@toolfabric/contract';
import { FabricError, toFabricError } from '@toolfabric/kernel';
import { unknownOutcome } from '@toolfabric/ledger';
import type { ProbeAnswer, ToolContext } from '@toolfabric/worker-runtime';
import type { Driver } from '../driver.ts';
import { toldError } from '../output/told-error.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { runNetworkGit } from './network-git.ts';
import { ABSENT, checkBefore, type PushArgs, receiptOf } from './push-receipt.ts';
import { branchRef, headRef, readRef } from './read-refs.ts';
import { runGit } from './run-git.ts';

/** Characters of a list of refs that are read. */
const MOST_REFS = 65_536;

/** The commit of a branch over there; undefined where there is none. */
const readTip = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: PushArgs) => {
  let text = '';
  const ref = branchRef(args.branch, 'branch');
  await runNetworkGit(driver, workspace, ctx, ['ls-remote', '--quiet', args.remote, ref], (chunk) => {
    text += chunk.toString('utf8');
    return text.length > MOST_REFS ? 'enough' : 'more';
  });
  return text
    .split('\n')
    .find((line) => line.endsWith(`\t${ref}`))
    ?.split('\t', 1)[0];
};

/** Git says no with an exit code. */
const holds = async (asked: Promise<void>): Promise<boolean> => {
  try {
    await asked;
    return true;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'tool_failed') return false;
    throw thrown;
  }
};

const isHere = (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, commit: string): Promise<boolean> =>
  holds(runGit(driver, workspace, ctx, ['cat-file', '-e', `${commit}^{commit}`], () => 'more'));

const isBelow = (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, commit: string, tip: string) =>
  holds(runGit(driver, workspace, ctx, ['merge-base', '--is-ancestor', commit, tip], () => 'more'));

const checkDescends = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  { commit }: PushArgs,
  before: string | undefined,
): Promise<void> => {
  if (before === undefined) return;
  if ((await isHere(driver, workspace, ctx, before)) && (await isBelow(driver, workspace, ctx, before, commit))) return;
  throw new FabricError(
    'tool_failed',
    'the branch over there holds commits that this one does not; nothing was pushed',
  );
};

/** The commit that the workspace stands at, to a branch of a repository at an address; never over what stands there. */
export const pushToAddress = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  args: PushArgs,
): Promise<Outcome> => {
  const ref = branchRef(args.branch, 'branch');
  if ((await readRef(driver, workspace, ctx, headRef(workspace))) !== args.commit)
    throw new FabricError('stale_version', 'the workspace does not stand at that commit; nothing was pushed');
  const before = await readTip(driver, workspace, ctx, args);
  checkBefore(args, before);
  if (before === args.commit) return receiptOf(args, args.remote, before);
  await checkDescends(driver, workspace, ctx, args, before);
  await ctx.beginEffect({ ref, commit: args.commit, before: before ?? ABSENT });
  // With the lease it is the branch as it was seen, or nothing.
  const lease = `--force-with-lease=${ref}:${before ?? ''}`;
  const sent = ['push', '--quiet', '--no-verify', lease, args.remote, `${args.commit}:${ref}`];
  const failed = await runNetworkGit(driver, workspace, ctx, sent).then(
    () => undefined,
    (thrown: unknown) => toFabricError(thrown, 'tool_failed'),
  );
  ctx.faults.at('worker.after-write');
  const now = await readTip(driver, workspace, ctx, args);
  if (now === args.commit) return receiptOf(args, args.remote, before);
  // The command is over, and so is its permission to speak; a branch that did not move will not.
  if (failed !== undefined && now === before && !ctx.signal.aborted)
    return toldError(ctx.redactor, failed, 'Nothing was pushed.');
  return unknownOutcome('The push began, and the remote does not show it.');
};

/** Whether a commit arrived, as far as it can be seen from here. */
export const askAddress = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  args: PushArgs,
): Promise<ProbeAnswer> => {
  const now = await readTip(driver, workspace, ctx, args);
  if (now === args.commit) return { answer: 'found', receipt: receiptOf(args, args.remote, undefined) };
  if (now === undefined) return { answer: 'absent', fence: false };
  if (!(await isHere(driver, workspace, ctx, now)))
    return { answer: 'not_visible', reason: 'the branch was moved on to commits that are not known here' };
  return (await isBelow(driver, workspace, ctx, args.commit, now))
    ? { answer: 'found', receipt: receiptOf(args, args.remote, undefined) }
    : { answer: 'absent', fence: false };
};
