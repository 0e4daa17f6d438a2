import type { Outcome } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import { defineTool, type ProbeAnswer, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { branchRef, headRef, identityEnv, readRef } from '../git/read-refs.ts';
import { settleWrite } from '../git/settle-write.ts';
import { checkOwnRepository, checkRepositoryWritable, writeGit } from '../git/writable-git.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';
import { fromWorkspace } from './outcome.ts';

const Args = z.strictObject({ name: z.string().min(1), switch: z.boolean().default(true) });
type Args = z.infer<typeof Args>;

const Intent = z.object({ ref: z.string(), commit: z.string(), from: z.string(), switch: z.boolean() });
type Intent = z.infer<typeof Intent>;

const receiptOf = (workspace: OpenWorkspace, { ref, commit, from, switch: isSwitched }: Intent): Outcome => {
  const branch = ref.slice('refs/heads/'.length);
  return fromWorkspace(workspace, {
    summary: `Made the branch ${branch} at ${commit.slice(0, 12)}${isSwitched ? ' and switched to it' : ''}.`,
    data: { branch, commit, from: from.slice('refs/heads/'.length), switched: isSwitched },
    sideEffect: 'confirmed',
    evidence: [{ kind: 'ref', ref, detail: commit }],
  });
};

const branch = async (
  driver: Driver,
  workspace: OpenWorkspace,
  lock: WorkspaceLock,
  ctx: ToolContext,
  args: Args,
): Promise<Outcome> => {
  const ref = branchRef(args.name, 'name');
  checkOwnRepository(workspace.root);
  checkRepositoryWritable(ctx);
  const from = headRef(workspace);
  const commit = await readRef(driver, workspace, ctx, from);
  if (commit === undefined)
    throw new FabricError('tool_failed', 'the branch has no commit yet that another could begin at');
  if ((await readRef(driver, workspace, ctx, ref)) !== undefined)
    throw new FabricError('stale_version', `there is a branch ${args.name} already`);
  const intent: Intent = { ref, commit, from, switch: args.switch };
  await ctx.beginEffect(intent);
  return settleWrite(workspace, ctx.redactor, async () => {
    const env = identityEnv(ctx, Math.floor(ctx.clock.now() / 1000));
    // Created only where nothing is: who made it meanwhile is not overwritten.
    await writeGit(driver, workspace, ctx, { args: ['update-ref', ref, commit, '0'.repeat(commit.length)], env, lock });
    ctx.faults.at('worker.after-write');
    if (args.switch)
      await writeGit(driver, workspace, ctx, {
        args: ['symbolic-ref', '-m', `branch ${args.name}`, 'HEAD', ref],
        env,
        lock,
      });
    return receiptOf(workspace, intent);
  });
};

const answer = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  intent: Json | undefined,
): Promise<ProbeAnswer> => {
  const parsed = Intent.safeParse(intent);
  if (!parsed.success) return { answer: 'not_visible', reason: 'the execution left no intent' };
  const commit = await readRef(driver, workspace, ctx, parsed.data.ref);
  if (commit === undefined) return { answer: 'absent', fence: true };
  if (commit !== parsed.data.commit) return { answer: 'not_visible', reason: 'the branch stands at another commit' };
  const isOn = headRef(workspace) === parsed.data.ref;
  return { answer: 'found', receipt: receiptOf(workspace, { ...parsed.data, switch: parsed.data.switch && isOn }) };
};

/** `git.branch`: a new branch at the commit that the workspace is on; files stay as they are. */
export const gitBranchTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'git.branch',
    effect: 'workspace',
    args: Args,
    handle: (ctx, args) =>
      driver.changing(ctx, (workspace, lock, inner) => branch(driver, workspace, lock, inner, args)),
    probe: (ctx, _args, intent) => driver.probing(ctx, intent, (workspace) => answer(driver, workspace, ctx, intent)),
  });
