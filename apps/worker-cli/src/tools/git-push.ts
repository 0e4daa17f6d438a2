import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { Outcome } from '@toolfabric/contract';
import { FabricError, toFabricError } from '@toolfabric/kernel';
import { unknownOutcome } from '@toolfabric/ledger';
import { defineTool, type ProbeAnswer, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { isBelow, openRemote, type Remote, readRemoteRef, runAtRemote } from '../git/open-remote.ts';
import { ABSENT, checkBefore, receiptOf } from '../git/push-receipt.ts';
import { askAddress, pushToAddress } from '../git/push-to-address.ts';
import { branchRef, COMMIT, headRef, readRef } from '../git/read-refs.ts';
import { runGit } from '../git/run-git.ts';
import { toldError } from '../output/told-error.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';

const Args = z.strictObject({
  remote: z.string().min(1),
  branch: z.string().min(1),
  commit: z.string().regex(COMMIT),
  expected: z.string().optional(),
});
type Args = z.infer<typeof Args>;

const BUNDLE = '/bundle';
/** Bytes of what is sent in one push. */
const MOST_BYTES = 1024 ** 3;

/** The commit with all that the remote does not have, in a file of the worker; removed with its directory. */
const bundle = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  local: string,
  before: string | undefined,
) => {
  const directory = await mkdtemp(join(driver.settings.layout.staging, 'push-'));
  const file = join(directory, 'bundle');
  try {
    const stream = createWriteStream(file, { mode: 0o644 });
    let size = 0;
    const has = before !== undefined && (await isHere(driver, workspace, ctx, before));
    await runGit(
      driver,
      workspace,
      ctx,
      ['bundle', 'create', '--quiet', '-', local, ...(has ? [`^${before}`] : [])],
      async (chunk) => {
        size += chunk.length;
        if (size > MOST_BYTES) return 'enough';
        await new Promise<void>((resolve, reject) =>
          stream.write(chunk, (error) => (error ? reject(error) : resolve())),
        );
        return 'more';
      },
    );
    stream.end();
    await finished(stream);
    if (size > MOST_BYTES) throw new FabricError('too_large', `a push sends at most ${MOST_BYTES} bytes`);
    await chmod(directory, 0o711);
    return { file, remove: () => rm(directory, { recursive: true, force: true }) };
  } catch (thrown) {
    await rm(directory, { recursive: true, force: true });
    throw thrown;
  }
};

const isHere = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, commit: string): Promise<boolean> => {
  try {
    await runGit(driver, workspace, ctx, ['cat-file', '-e', `${commit}^{commit}`], () => 'more');
    return true;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'tool_failed') return false;
    throw thrown;
  }
};

const push = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  const ref = branchRef(args.branch, 'branch');
  const remote = await openRemote(driver, args.remote);
  const local = headRef(workspace);
  if ((await readRef(driver, workspace, ctx, local)) !== args.commit)
    throw new FabricError('stale_version', 'the workspace does not stand at that commit; nothing was pushed');
  const before = await readRemoteRef(driver, remote, ctx, ref);
  checkBefore(args, before);
  if (before === args.commit) return receiptOf(args, remote.path, before);
  const sent = await bundle(driver, workspace, ctx, local, before);
  try {
    await ctx.beginEffect({ ref, commit: args.commit, before: before ?? ABSENT });
    // Without `+`: what is no descendant of what stands there is refused.
    const fetch = [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      BUNDLE,
      `${local}:${ref}`,
    ];
    const binds = [{ source: sent.file, target: BUNDLE, writable: false }];
    const failed = await runAtRemote(driver, remote, ctx, { args: fetch, writable: true, binds }).then(
      () => undefined,
      (thrown: unknown) => toFabricError(thrown, 'tool_failed'),
    );
    ctx.faults.at('worker.after-write');
    return await endOfPush(driver, remote, ctx, args, before, failed);
  } finally {
    await sent.remove();
  }
};

/** What the remote says afterwards is what happened; git's own exit code is only a reason. */
const endOfPush = async (
  driver: Driver,
  remote: Remote,
  ctx: ToolContext,
  args: Args,
  before: string | undefined,
  failed: FabricError | undefined,
): Promise<Outcome> => {
  const now = await readRemoteRef(driver, remote, ctx, `refs/heads/${args.branch}`);
  if (now === args.commit) return receiptOf(args, remote.path, before);
  // The command is over with all of its processes, and the ref did not move: nothing will come any more.
  if (failed !== undefined && !ctx.signal.aborted) return toldError(ctx.redactor, failed, 'Nothing was pushed.');
  return unknownOutcome('The push began, and the remote does not show it.');
};

const answer = async (driver: Driver, ctx: ToolContext, args: Args): Promise<ProbeAnswer> => {
  const remote = await openRemote(driver, args.remote);
  const now = await readRemoteRef(driver, remote, ctx, branchRef(args.branch, 'branch'));
  if (now === undefined) return { answer: 'absent', fence: false };
  const isThere = now === args.commit || (await isBelow(driver, remote, ctx, args.commit, now));
  return isThere
    ? { answer: 'found', receipt: receiptOf(args, remote.path, undefined) }
    : { answer: 'absent', fence: false };
};

/** A path of the machine, or else an address of the outside. */
const isPath = ({ remote }: Args): boolean => remote.startsWith('/');

/** `git.push`: the commit that the workspace stands at, to a branch of a bare repository that an operator or the leave of the call allows. */
export const gitPushTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'git.push',
    effect: 'outside',
    args: Args,
    handle: (ctx, args) =>
      driver.inWorkspace(ctx, (workspace) =>
        isPath(args) ? push(driver, workspace, ctx, args) : pushToAddress(driver, workspace, ctx, args),
      ),
    probe: (ctx, args) =>
      isPath(args)
        ? answer(driver, ctx, args)
        : driver.inWorkspace(ctx, (workspace) => askAddress(driver, workspace, ctx, args)),
  });
