import type { Outcome, Truncation } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { StatusReader } from '../git/parse-status.ts';
import { runGit } from '../git/run-git.ts';
import { jsonBytes, OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { Records } from '../ripgrep/records.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { fromWorkspace } from './outcome.ts';
import { resolveSearchPath } from './search-path.ts';

const Args = z.strictObject({
  path: z.string().min(1).default('.'),
  untracked: z.enum(['all', 'directories', 'none']).default('directories'),
  max_entries: z.int().min(1).max(1000).default(200),
});
type Args = z.infer<typeof Args>;

const UNTRACKED = { all: 'all', directories: 'normal', none: 'no' } as const;
const RECORD_BYTES = 16 * 1024;
/** Entries after which nothing more is counted. */
const MOST_COUNTED = 50_000;

const outcomeOf = (workspace: OpenWorkspace, reader: StatusReader, budget: number): Outcome => {
  const { branch, counts, total } = reader;
  let entries = reader.entries.map((entry) => ({ ...entry }));
  const head: Record<string, Json> = { ...branch, clean: total === 0, counts: { ...counts } };
  while (entries.length > 0 && jsonBytes({ ...head, entries }) > budget) {
    entries = entries.slice(0, Math.floor(entries.length * 0.8));
  }
  const truncation: Truncation[] =
    entries.length === total ? [] : [{ stream: 'entries', kept: entries.length, total, unit: 'items' }];
  const where =
    branch.branch ?? (branch.commit === undefined ? 'no branch' : `detached at ${branch.commit.slice(0, 12)}`);
  const summary =
    total === 0
      ? `Nothing changed on ${where}.`
      : `On ${where}: ${counts.changed + counts.renamed} changed, ${counts.unmerged} unmerged, ${counts.untracked} untracked.`;
  const evidence = branch.commit === undefined ? [] : [{ kind: 'commit', ref: branch.commit }];
  const data = { ...head, entries } as NonNullable<Outcome['data']>;
  return fromWorkspace(workspace, { summary, data, sideEffect: 'none', evidence }, truncation);
};

const status = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  const path = await resolveSearchPath(workspace, args.path);
  const reader = new StatusReader(args.max_entries);
  const records = new Records({ separator: 0, limit: RECORD_BYTES });
  const options = ['--porcelain=v2', '--branch', '-z', '--no-ahead-behind', '--ignore-submodules=all'];
  const pathspec = path === '' ? [] : ['--', `:(top,literal)${path}`];
  await runGit(
    driver,
    workspace,
    ctx,
    ['status', ...options, `--untracked-files=${UNTRACKED[args.untracked]}`, ...pathspec],
    (chunk) => {
      for (const { bytes } of records.push(chunk)) reader.record(bytes.toString('utf8'));
      return reader.total >= MOST_COUNTED ? 'enough' : 'more';
    },
  );
  return outcomeOf(workspace, reader, ctx.limits.outputBytes - OVERHEAD_BYTES);
};

/** `git.status`: what differs from the last commit. No setting of the repository is read. */
export const gitStatusTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'git.status',
    effect: 'none',
    args: Args,
    handle: (ctx, args) => driver.inWorkspace(ctx, (workspace) => status(driver, workspace, ctx, args)),
  });
