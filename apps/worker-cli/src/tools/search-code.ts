import type { Outcome, Truncation } from '@toolfabric/contract';
import { compileGlob } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { ConfinedEnd } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import { OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { cutText } from '../output/told-error.ts';
import { LINE_NUMBER, parseEvent } from '../ripgrep/events.ts';
import { Matches } from '../ripgrep/matches.ts';
import { Records } from '../ripgrep/records.ts';
import { runRipgrep } from '../ripgrep/run-ripgrep.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { fromWorkspace } from './outcome.ts';
import { resolveSearchPath } from './search-path.ts';

const Args = z.strictObject({
  pattern: z.string().min(1),
  literal: z.boolean().default(false),
  ignore_case: z.boolean().default(false),
  path: z.string().default('.'),
  glob: z.string().min(1).optional(),
  context_lines: z.int().min(0).max(10).default(0),
  max_matches: z.int().min(1).max(500).default(100),
});
type Args = z.infer<typeof Args>;

/** Bytes of one record of ripgrep that are taken in; a longer line is reported without its text. */
const RECORD_BYTES = 64 * 1024;
/** Matching lines after which nothing more is counted. */
const MOST_COUNTED = 10_000;
const MOST_EVIDENCE = 20;
const MOST_REF_LENGTH = 300;
const NEWLINE = 10;

const optionsOf = (args: Args): string[] => [
  '--json',
  // What was found before a timeout must have come through the pipe by then.
  '--line-buffered',
  '--crlf',
  '--regex-size-limit=32M',
  '--dfa-size-limit=64M',
  `--context=${args.context_lines}`,
  args.literal ? '--fixed-strings' : '--no-fixed-strings',
  args.ignore_case ? '--ignore-case' : '--case-sensitive',
];

const checkPattern = (pattern: string): void => {
  if (!pattern.isWellFormed() || pattern.includes('\0')) {
    throw new FabricError('invalid_pattern', 'the pattern holds characters that no text has');
  }
  if (/[\n\r]/.test(pattern)) {
    throw new FabricError('invalid_pattern', 'the pattern goes over a line end', {
      hint: 'Lines are searched one by one: search for a part that stands in one line.',
    });
  }
};

/** Exit code 2 without a summary means that nothing was searched: the pattern is at fault. */
const checkEnd = (end: ConfinedEnd, summarised: boolean, { redactor }: ToolContext): void => {
  if (end.ending !== 'exited' || end.code === 0 || end.code === 1 || summarised) return;
  throw new FabricError('invalid_pattern', `the pattern is refused: ${cutText(redactor, end.errors.trim(), 600)}`);
};

/** Ripgrep goes on after a file that it may not read, and says so by its code. */
const stoppedBy = (end: ConfinedEnd, matches: Matches): string | undefined => {
  if (matches.full !== undefined) return matches.full;
  if (end.ending === 'timeout') return 'time';
  return end.code === 2 ? 'unreadable_files' : undefined;
};

const summaryOf = (matches: Matches, atLeast: boolean, stopped: string | undefined): string => {
  if (matches.total === 0) return stopped === undefined ? 'No line matches.' : `No line matches so far (${stopped}).`;
  const total = `${atLeast ? 'at least ' : ''}${matches.total}`;
  const shown = matches.kept === matches.total ? '' : `, ${matches.kept} of them shown`;
  return `${total} matching lines in ${matches.filesWithMatches} files${shown}.`;
};

const outcomeOf = (workspace: OpenWorkspace, matches: Matches, end: ConfinedEnd): Outcome => {
  const stopped = stoppedBy(end, matches);
  const atLeast = end.ending !== 'exited';
  const truncation: Truncation[] =
    matches.kept === matches.total && !atLeast
      ? []
      : [{ stream: 'matches', kept: matches.kept, total: matches.total, unit: 'items' }];
  const data = {
    files: matches.files.map(({ path, lines }) => ({ path, lines: lines.map((line) => ({ ...line })) })),
    matches_shown: matches.kept,
    matches_total: matches.total,
    total_is_exact: !atLeast,
    files_with_matches: matches.filesWithMatches,
    ...(stopped === undefined ? {} : { stopped_by: stopped }),
    ...(matches.binaryFiles === 0 ? {} : { binary_files_passed_over: matches.binaryFiles }),
  };
  const evidence = matches.files
    .flatMap(({ path, lines }) => lines.filter(({ hit }) => hit).map(({ line }) => `${path}:${line}`))
    .filter((ref) => ref.length <= MOST_REF_LENGTH)
    .slice(0, MOST_EVIDENCE)
    .map((ref) => ({ kind: 'line', ref }));
  const summary = summaryOf(matches, atLeast, stopped);
  return fromWorkspace(workspace, { summary, data, sideEffect: 'none', evidence }, truncation);
};

const search = async (driver: Driver, workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  checkPattern(args.pattern);
  const glob = args.glob === undefined ? undefined : compileGlob(args.glob);
  const path = await resolveSearchPath(workspace, args.path);
  const bytes = ctx.limits.outputBytes - OVERHEAD_BYTES;
  const limits = { matches: args.max_matches, bytes, counted: MOST_COUNTED, context: args.context_lines };
  const matches = new Matches(limits, glob, ctx.redactor);
  const records = new Records({ separator: NEWLINE, limit: RECORD_BYTES, watch: LINE_NUMBER });
  let summarised = false;
  const onOutput = (chunk: Buffer) => {
    for (const piece of records.push(chunk)) {
      const event = parseEvent(piece);
      summarised ||= event?.type === 'summary';
      if (event !== undefined && !matches.take(event)) return 'enough' as const;
    }
    return 'more' as const;
  };
  const end = await runRipgrep(driver, workspace, ctx, {
    options: optionsOf(args),
    operands: [args.pattern],
    path,
    glob,
    onOutput,
  });
  checkEnd(end, summarised, ctx);
  return outcomeOf(workspace, matches, end);
};

/** `workspace.search_code`: ripgrep over the text files of a workspace. */
export const searchCodeTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'workspace.search_code',
    effect: 'none',
    args: Args,
    handle: (ctx, args) => driver.inWorkspace(ctx, (workspace) => search(driver, workspace, ctx, args)),
  });
