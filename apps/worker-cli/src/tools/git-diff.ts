import type { Outcome, Truncation } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { type FileDiff, parseNumbers } from '../git/parse-diff.ts';
import { runGit } from '../git/run-git.ts';
import { ArtifactSink, type Kept } from '../output/artifact-sink.ts';
import { fitText } from '../output/fit-text.ts';
import { jsonBytes, OVERHEAD_BYTES } from '../output/json-bytes.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { fromWorkspace } from './outcome.ts';
import { resolveSearchPath } from './search-path.ts';

const REVISION = /^[A-Za-z0-9][A-Za-z0-9._/@{}~^-]{0,199}$/;

const Args = z.strictObject({
  path: z.string().min(1).default('.'),
  compare: z.enum(['all', 'unstaged', 'staged']).default('all'),
  from: z.string().regex(REVISION).optional(),
  to: z.string().regex(REVISION).optional(),
  context_lines: z.int().min(0).max(20).default(3),
});
type Args = z.infer<typeof Args>;

/** The tree without anything in it: what a first commit is compared with. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const FIXED = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--no-relative',
  '--ignore-submodules=all',
  '--find-renames',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--numstat',
  '--patch',
];
/** Bytes of text that are kept in memory to be shown. */
const MOST_TEXT = 64 * 1024;
const MOST_FILES = 300;
/** Bytes of diff after which git is ended. */
const MOST_BYTES = 64 * 1024 ** 2;
const HOLD_BYTES = 16 * 1024;
const STALL_MS = 5_000;

/** Reads numbers first, then the patch; keeps the beginning of it and gives all of it to the store. */
class DiffReader {
  readonly files: FileDiff[] = [];
  readonly sink: ArtifactSink;
  fileTotal = 0;
  bytes = 0;
  #head = '';
  #inPatch = false;
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(sink: ArtifactSink) {
    this.sink = sink;
  }

  take(chunk: Buffer): Promise<void> | undefined {
    if (this.#inPatch) return this.#patch(chunk);
    this.#head += chunk.toString('latin1');
    for (let end = this.#head.indexOf('\n'); end !== -1 && !this.#inPatch; end = this.#head.indexOf('\n')) {
      const line = Buffer.from(this.#head.slice(0, end), 'latin1').toString('utf8');
      this.#head = this.#head.slice(end + 1);
      const file = parseNumbers(line);
      if (file === undefined) this.#inPatch = true;
      else if (this.fileTotal++ < MOST_FILES) this.files.push(file);
    }
    if (!this.#inPatch || this.#head === '') return undefined;
    const rest = Buffer.from(this.#head, 'latin1');
    this.#head = '';
    return this.#patch(rest);
  }

  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.#kept));
  }

  #patch(bytes: Buffer): Promise<void> | undefined {
    this.bytes += bytes.length;
    const room = MOST_TEXT - this.#keptBytes;
    if (room > 0) {
      this.#kept.push(Buffer.from(bytes.subarray(0, room)));
      this.#keptBytes += Math.min(room, bytes.length);
    }
    return this.sink.write(bytes);
  }
}

interface Compared {
  readonly options: readonly string[];
  readonly revisions: readonly string[];
}

const what = (args: Args, hasCommit: boolean): Compared => {
  const { from, to } = args;
  if (from !== undefined) return { options: [], revisions: [from, ...(to === undefined ? [] : [to])] };
  if (to !== undefined) throw new FabricError('invalid_arguments', 'to means nothing without from');
  if (args.compare === 'unstaged') return { options: [], revisions: [] };
  const revisions = [hasCommit ? 'HEAD' : EMPTY_TREE];
  return { options: args.compare === 'staged' ? ['--cached'] : [], revisions };
};

const commitExists = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext): Promise<boolean> => {
  try {
    await runGit(driver, workspace, ctx, ['rev-parse', '--quiet', '--verify', 'HEAD^{commit}'], () => 'more');
    return true;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'tool_failed') return false;
    throw thrown;
  }
};

const outcomeOf = (workspace: OpenWorkspace, ctx: ToolContext, reader: DiffReader, kept: Kept | undefined): Outcome => {
  const files = reader.files.map((file) => ({ ...file }));
  const artifact = kept !== undefined && 'stored' in kept ? kept.stored.id : undefined;
  const head: Record<string, Json> = {
    files_total: reader.fileTotal,
    ...(artifact === undefined ? {} : { artifact }),
    ...(kept !== undefined && 'missing' in kept ? { artifact_missing: kept.missing } : {}),
  };
  const budget = ctx.limits.outputBytes - OVERHEAD_BYTES;
  let shown = files;
  while (shown.length > 0 && jsonBytes(shown) > budget / 3) shown = shown.slice(0, Math.floor(shown.length * 0.8));
  const diff = fitText(ctx.redactor.text(reader.text()), budget - jsonBytes({ ...head, files: shown }));
  const keptBytes = Math.min(reader.bytes, Buffer.byteLength(diff.text));
  const truncation: Truncation[] = [
    ...(diff.whole && reader.bytes <= MOST_TEXT
      ? []
      : [{ stream: 'diff', kept: keptBytes, total: reader.bytes, unit: 'bytes' as const }]),
    ...(shown.length === reader.fileTotal
      ? []
      : [{ stream: 'files', kept: shown.length, total: reader.fileTotal, unit: 'items' as const }]),
  ];
  const [added, removed] = [
    files.reduce((sum, one) => sum + (one.added ?? 0), 0),
    files.reduce((sum, one) => sum + (one.removed ?? 0), 0),
  ];
  const summary =
    reader.fileTotal === 0
      ? 'No difference.'
      : `${reader.fileTotal} files differ, ${added} lines added, ${removed} removed.`;
  const evidence = files
    .filter(({ path }) => path.length <= 300)
    .slice(0, 20)
    .map(({ path }) => ({ kind: 'file', ref: path }));
  const outcome = fromWorkspace(
    workspace,
    {
      summary,
      data: { ...head, files: shown, diff: diff.text } as NonNullable<Outcome['data']>,
      sideEffect: 'none',
      evidence,
    },
    truncation,
  );
  if (artifact === undefined) return outcome;
  return {
    ...outcome,
    artifacts: [artifact],
    content: [{ type: 'file', name: 'diff', mediaType: 'text/x-diff; charset=utf-8', artifact }],
  };
};

const diff = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  const path = await resolveSearchPath(workspace, args.path).catch((thrown: unknown) => {
    // A file that was removed is in the difference still.
    if (thrown instanceof FabricError && thrown.type === 'file_not_found') return args.path;
    throw thrown;
  });
  const needsCommit = args.from === undefined && args.compare !== 'unstaged';
  const { options, revisions } = what(args, needsCommit && (await commitExists(driver, workspace, ctx)));
  const sink = new ArtifactSink({
    session: ctx.artifacts,
    name: { name: 'diff', mediaType: 'text/x-diff; charset=utf-8', trust: 'untrusted' },
    holdBytes: HOLD_BYTES,
    stallMs: STALL_MS,
  });
  const reader = new DiffReader(sink);
  const redacting = ctx.redactor.stream();
  const take = (bytes: Uint8Array) => reader.take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const pathspec = path === '' || path === '.' ? [] : [`:(top,literal)${path}`];
  const context = `--unified=${args.context_lines}`;
  const command = ['diff', ...FIXED, context, ...options, '--end-of-options', ...revisions, '--', ...pathspec];
  await runGit(driver, workspace, ctx, command, (chunk) => {
    const wait = take(redacting.push(chunk));
    const answer = reader.bytes > MOST_BYTES ? 'enough' : 'more';
    return wait === undefined ? answer : wait.then(() => answer);
  });
  await take(redacting.end());
  return outcomeOf(workspace, ctx, reader, await sink.end());
};

/** `git.diff`: the difference to the last commit, or between two. Runs nothing that the repository names. */
export const gitDiffTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'git.diff',
    effect: 'none',
    args: Args,
    handle: (ctx, args) => driver.inWorkspace(ctx, (workspace) => diff(driver, workspace, ctx, args)),
  });
