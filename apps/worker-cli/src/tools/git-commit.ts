import { readFileSync } from 'node:fs';
import type { Outcome, Truncation } from '@toolfabric/contract';
import { FabricError, type Json, sha256Hex } from '@toolfabric/kernel';
import { defineTool, type ProbeAnswer, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { askGit, headRef, identityEnv, readRef } from '../git/read-refs.ts';
import { settleWrite } from '../git/settle-write.ts';
import { checkOwnRepository, checkRepositoryWritable, writeGit } from '../git/writable-git.ts';
import { jsonBytes, OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { descriptorPath } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';
import { fromWorkspace } from './outcome.ts';
import { resolveSearchPath } from './search-path.ts';

const Args = z.strictObject({
  message: z.string().min(1),
  paths: z.array(z.string().min(1)).min(1).optional(),
  expected_head: z.string().optional(),
});
type Args = z.infer<typeof Args>;

/** What tells the commit again: its parent, its second and its message. */
const Intent = z.object({ ref: z.string(), before: z.string(), at: z.int(), message: z.string() });
type Intent = z.infer<typeof Intent>;

const NONE = 'none';

interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly deleted: number;
}

const changesOf = (text: string): FileChange[] =>
  text.split('\0').flatMap((record) => {
    const match = /^(\d+|-)\t(\d+|-)\t([\s\S]+)$/.exec(record);
    if (match?.[3] === undefined) return [];
    const count = (part: string | undefined) => (part === '-' ? 0 : Number(part));
    return [{ path: match[3], added: count(match[1]), deleted: count(match[2]) }];
  });

const receiptOf = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  { ref, before }: Intent,
  commit: string,
): Promise<Outcome> => {
  const show = [
    'diff-tree',
    '-r',
    '--root',
    '--no-commit-id',
    '--numstat',
    '-z',
    '--no-renames',
    '--no-ext-diff',
    '--no-textconv',
  ];
  const changes = changesOf(await askGit(driver, workspace, ctx, [...show, commit]));
  const branch = ref.slice('refs/heads/'.length);
  const head: Record<string, Json> = {
    branch,
    commit,
    parent: before === NONE ? null : before,
    changed: changes.length,
  };
  let files: readonly FileChange[] = changes;
  const budget = ctx.limits.outputBytes - OVERHEAD_BYTES;
  while (files.length > 0 && jsonBytes({ ...head, files: files as unknown as Json }) > budget)
    files = files.slice(0, Math.floor(files.length * 0.8));
  const cut: Truncation[] =
    files.length === changes.length
      ? []
      : [{ stream: 'files', kept: files.length, total: changes.length, unit: 'items' }];
  return fromWorkspace(
    workspace,
    {
      summary: `Committed ${changes.length} files to ${branch} as ${commit.slice(0, 12)}.`,
      data: { ...head, files } as unknown as NonNullable<Outcome['data']>,
      sideEffect: 'confirmed',
      evidence: [{ kind: 'commit', ref: commit, detail: branch }],
    },
    cut,
  );
};

/** What a filter keeps elsewhere would be committed as it stands in the workspace; then only what was named is. */
const checkFilters = ({ root }: OpenWorkspace, paths: readonly string[] | undefined): void => {
  if (paths !== undefined) return;
  let attributes = '';
  try {
    attributes = readFileSync(`${descriptorPath(root.handle)}/.gitattributes`, 'utf8').slice(0, 1024 * 1024);
  } catch {
    return;
  }
  if (/(^|\s)filter=/m.test(attributes))
    throw new FabricError('tool_failed', 'this repository stores some files through a filter, which is not run here', {
      hint: 'Name the paths to commit, without those files.',
    });
};

/** Submodules are never entered: a setting in one of them could start a program. */
const withoutSubmodules = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext): Promise<string[]> => {
  const listed = await askGit(driver, workspace, ctx, ['ls-files', '--stage', '-z']);
  const modules = listed.split('\0').flatMap((line) => /^160000 \S+ \d\t([\s\S]+)$/.exec(line)?.[1] ?? []);
  return modules.map((path) => `:(top,exclude,literal)${path}`);
};

const pathsOf = async (workspace: OpenWorkspace, paths: readonly string[] | undefined): Promise<string[]> => {
  const resolved = await Promise.all((paths ?? ['.']).map((path) => resolveSearchPath(workspace, path)));
  return resolved.map((path) => (path === '' ? ':(top)' : `:(top,literal)${path}`));
};

const commit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  lock: WorkspaceLock,
  ctx: ToolContext,
  args: Args,
): Promise<Outcome> => {
  checkOwnRepository(workspace.root);
  checkRepositoryWritable(ctx);
  const ref = headRef(workspace);
  const before = (await readRef(driver, workspace, ctx, ref)) ?? NONE;
  if (args.expected_head !== undefined && args.expected_head !== before)
    throw new FabricError('stale_version', `${ref.slice('refs/heads/'.length)} stands at ${before} by now`);
  checkFilters(workspace, args.paths);
  const paths = [...(await pathsOf(workspace, args.paths)), ...(await withoutSubmodules(driver, workspace, ctx))];
  const status = await askGit(driver, workspace, ctx, [
    'status',
    '--porcelain',
    '-z',
    '--ignore-submodules=all',
    '--',
    ...paths,
  ]);
  const staged = await askGit(driver, workspace, ctx, [
    'diff',
    '--cached',
    '--name-only',
    '--ignore-submodules=all',
    '-z',
  ]);
  if (status === '' && staged === '') throw new FabricError('tool_failed', 'there is nothing to commit');
  const at = Math.floor(ctx.clock.now() / 1000);
  const intent: Intent = { ref, before, at, message: sha256Hex(args.message) };
  await ctx.beginEffect(intent);
  return settleWrite(workspace, ctx.redactor, async () => {
    const env = identityEnv(ctx, at);
    await writeGit(driver, workspace, ctx, { args: ['add', '--all', '--', ...paths], env, lock });
    const options = [
      '--quiet',
      '--no-verify',
      '--no-gpg-sign',
      '--no-post-rewrite',
      '--no-status',
      '--cleanup=verbatim',
    ];
    await writeGit(driver, workspace, ctx, { args: ['commit', ...options, `--message=${args.message}`], env, lock });
    ctx.faults.at('worker.after-write');
    const after = await readRef(driver, workspace, ctx, ref);
    if (after === undefined || after === before) throw new FabricError('tool_failed', 'the branch did not move');
    return receiptOf(driver, workspace, ctx, intent, after);
  });
};

/** The message as `git commit` stores it: with a line end, which it adds. */
const isMessage = (text: string, hash: string): boolean =>
  sha256Hex(text) === hash || sha256Hex(text.replace(/\n$/, '')) === hash;

const isThatCommit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  intent: Intent,
  commitId: string,
) => {
  const text = await askGit(driver, workspace, ctx, ['log', '-1', '--format=%P%n%ct%n%B', commitId]);
  const [parents = '', at = '', ...lines] = text.split('\n');
  const parent = parents === '' ? NONE : parents;
  // `log` ends what it shows with a line end of its own.
  return (
    parent === intent.before &&
    at === String(intent.at) &&
    isMessage(lines.join('\n').replace(/\n$/, ''), intent.message)
  );
};

const answer = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  given: Json | undefined,
): Promise<ProbeAnswer> => {
  const parsed = Intent.safeParse(given);
  if (!parsed.success) return { answer: 'not_visible', reason: 'the execution left no intent' };
  const now = (await readRef(driver, workspace, ctx, parsed.data.ref)) ?? NONE;
  if (now === parsed.data.before) return { answer: 'absent', fence: true };
  if (!(await isThatCommit(driver, workspace, ctx, parsed.data, now)))
    return { answer: 'not_visible', reason: 'the branch holds something else by now' };
  return { answer: 'found', receipt: await receiptOf(driver, workspace, ctx, parsed.data, now) };
};

/** `git.commit`: what changed in the workspace, as one commit on the branch that it is on. */
export const gitCommitTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'git.commit',
    effect: 'workspace',
    args: Args,
    handle: (ctx, args) =>
      driver.changing(ctx, (workspace, lock, inner) => commit(driver, workspace, lock, inner, args)),
    probe: (ctx, _args, intent) => driver.probing(ctx, intent, (workspace) => answer(driver, workspace, ctx, intent)),
  });
