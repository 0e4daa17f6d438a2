import { isUtf8 } from 'node:buffer';
import type { Outcome, Truncation } from '@toolfabric/contract';
import { compileGlob } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { ConfinedEnd } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import { OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { FileList } from '../ripgrep/file-list.ts';
import { Records } from '../ripgrep/records.ts';
import { runRipgrep, workspacePath } from '../ripgrep/run-ripgrep.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { fromWorkspace } from './outcome.ts';
import { resolveSearchPath } from './search-path.ts';

const Args = z.strictObject({
  path: z.string().default('.'),
  glob: z.string().min(1).optional(),
  max_entries: z.int().min(1).max(2_000).default(500),
});
type Args = z.infer<typeof Args>;

/** Longer than any path that the kernel lets be. */
const RECORD_BYTES = 8 * 1024;
/** Files after which nothing more is counted. */
const MOST_COUNTED = 200_000;

const checkEnd = (end: ConfinedEnd): void => {
  if (end.ending !== 'exited' || end.code === 0 || end.code === 1 || end.code === 2) return;
  throw new FabricError('tool_failed', `the files could not be listed (exit code ${end.code})`);
};

const outcomeOf = (workspace: OpenWorkspace, path: string, list: FileList, end: ConfinedEnd): Outcome => {
  const atLeast = end.ending !== 'exited';
  const complete = list.kept.length === list.total && !atLeast;
  const truncation: Truncation[] = complete
    ? []
    : [{ stream: 'files', kept: list.kept.length, total: list.total, unit: 'items' }];
  const data = {
    path: path === '' ? '.' : path,
    files: [...list.kept],
    files_total: list.total,
    total_is_exact: !atLeast,
    ...(complete ? {} : { directories: list.directories() }),
    ...(list.unprintable === 0 ? {} : { names_not_utf8: list.unprintable }),
    ...(end.code === 2 ? { unreadable_directories: true } : {}),
  };
  const total = `${atLeast ? 'At least ' : ''}${list.total} files`;
  const summary = complete ? `${total}.` : `${total}, the first ${list.kept.length} of them listed.`;
  const evidence = [{ kind: 'directory', ref: data.path, detail: `${list.total} files` }];
  return fromWorkspace(workspace, { summary, data, sideEffect: 'none', evidence }, truncation);
};

const list = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  const glob = args.glob === undefined ? undefined : compileGlob(args.glob);
  const path = await resolveSearchPath(workspace, args.path);
  const bytes = ctx.limits.outputBytes - OVERHEAD_BYTES;
  const files = new FileList({ entries: args.max_entries, bytes, below: path });
  const records = new Records({ separator: 0, limit: RECORD_BYTES });
  const onOutput = (chunk: Buffer) => {
    for (const { bytes: name } of records.push(chunk)) {
      const shown = workspacePath(name.toString('utf8'));
      if (glob === undefined || glob.matches(shown)) files.add(shown, isUtf8(name));
      if (files.total >= MOST_COUNTED) return 'enough' as const;
    }
    return 'more' as const;
  };
  const options = ['--files', '--null'];
  const end = await runRipgrep(driver, workspace, ctx, { options, operands: [], path, glob, onOutput });
  checkEnd(end);
  return outcomeOf(workspace, path, files, end);
};

/** `workspace.list_files`: the files of a workspace that are not ignored, in one fixed order. */
export const listFilesTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'workspace.list_files',
    effect: 'none',
    args: Args,
    handle: (ctx, args) => driver.inWorkspace(ctx, (workspace) => list(driver, workspace, ctx, args)),
  });
