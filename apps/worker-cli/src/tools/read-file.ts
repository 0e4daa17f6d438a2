import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { defineTool, type Redactor, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { type FittedText, fitText } from '../output/fit-text.ts';
import { OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { LineRange, type RangeRead } from '../output/line-range.ts';
import { throwIfStopped } from '../process/stop-reason.ts';
import { findOccupied, type OccupiedPlace } from '../workspace/find-place.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import { pathOf } from '../workspace/place.ts';
import { fromWorkspace } from './outcome.ts';

const Args = z.strictObject({
  path: z.string(),
  start_line: z.int().min(1).default(1),
  end_line: z.int().min(1).optional(),
});
type Args = z.infer<typeof Args>;

const CHUNK_BYTES = 256 * 1024;
/** Bytes past the budget that are kept: more than a secret on one line takes. */
const AHEAD_BYTES = 16 * 1024;

const readRange = async (place: OccupiedPlace, range: LineRange, signal: AbortSignal): Promise<RangeRead> => {
  await using handle = await place.entry.open();
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  while (true) {
    throwIfStopped(signal);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) return range.finish();
    range.push(buffer.subarray(0, bytesRead));
  }
};

const refuse = (read: RangeRead, args: Args, shown: string): void => {
  if (read.problem === 'binary')
    throw new FabricError('binary_file', `${shown} holds binary data (${read.size} bytes)`);
  if (read.problem === 'invalid_utf8') {
    throw new FabricError('binary_file', `${shown} is not valid UTF-8 (${read.size} bytes)`);
  }
  if (args.start_line <= Math.max(1, read.totalLines)) return;
  const expected = `at most ${Math.max(1, read.totalLines)}, the number of lines of the file`;
  throw new FabricError('invalid_arguments', `${shown} has ${read.totalLines} lines`, {
    fields: [{ field: '/start_line', expected, got: String(args.start_line) }],
  });
};

const checkOrder = ({ start_line, end_line }: Args): void => {
  if (end_line === undefined || end_line >= start_line) return;
  throw new FabricError('invalid_arguments', 'end_line lies before start_line', {
    fields: [{ field: '/end_line', expected: `at least ${start_line}`, got: String(end_line) }],
  });
};

/** The kept bytes as text; a character that the limit cut in two is left out. */
const decode = (read: RangeRead): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(read.bytes, { stream: read.bytes.length < read.rangeBytes });

/** A line that is longer than the budget is redacted before it is cut: half a secret would not be found any more. */
const fit = (read: RangeRead, budget: number, redactor: Redactor): FittedText => {
  const text = decode(read);
  const fitted = fitText(text, budget);
  if (!fitted.insideLine) return fitted;
  const redacted = redactor.text(text);
  const isHalf = read.bytes.length < read.rangeBytes;
  const safe = isHalf ? redacted.slice(0, Math.max(0, redacted.length - AHEAD_BYTES)) : redacted;
  return { ...fitText(safe, budget), whole: false, insideLine: true };
};

const outcomeOf = (
  workspace: OpenWorkspace,
  path: string,
  args: Args,
  read: RangeRead,
  fitted: FittedText,
): Outcome => {
  const { text, whole, insideLine } = fitted;
  const complete = whole && read.bytes.length === read.rangeBytes;
  const newlines = text.split('\n').length - 1;
  const lines = newlines + (text === '' || text.endsWith('\n') ? 0 : 1);
  const end_line = args.start_line + lines - 1;
  const cut_line = !complete && (insideLine || !text.endsWith('\n'));
  const kept = Buffer.byteLength(text);
  const truncation = { stream: 'text', kept, total: read.rangeBytes, unit: 'bytes' } as const;
  const data = {
    path,
    text,
    start_line: args.start_line,
    end_line,
    total_lines: read.totalLines,
    size: read.size,
    sha256: read.sha256,
    ...(complete ? {} : { next_line: end_line + 1, cut_line }),
  };
  const range = lines === 0 ? 'no lines' : `lines ${args.start_line} to ${end_line}`;
  const summary = `Read ${range} of ${read.totalLines} from ${showPath(path)}${complete ? '' : ' (cut at the output limit)'}.`;
  const evidence = [{ kind: 'file', ref: path, detail: `sha256:${read.sha256}` }];
  return fromWorkspace(workspace, { summary, data, sideEffect: 'none', evidence }, complete ? [] : [truncation]);
};

const read = async (workspace: OpenWorkspace, ctx: ToolContext, args: Args): Promise<Outcome> => {
  checkOrder(args);
  const place = await findOccupied(workspace.root, args.path);
  try {
    const path = pathOf(place);
    if (place.entry.kind !== 'file') throw new FabricError('not_a_file', `${showPath(path)} is not a regular file`);
    const budget = ctx.limits.outputBytes - OVERHEAD_BYTES - Buffer.byteLength(path);
    const range = new LineRange(args.start_line, args.end_line ?? Number.MAX_SAFE_INTEGER, budget + AHEAD_BYTES);
    const found = await readRange(place, range, ctx.signal);
    refuse(found, args, showPath(path));
    return outcomeOf(workspace, path, args, found, fit(found, budget, ctx.redactor));
  } finally {
    await place.close();
  }
};

/** `workspace.read_file`: a range of lines of one text file, with the hash of the whole file. */
export const readFileTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'workspace.read_file',
    effect: 'none',
    args: Args,
    handle: (ctx, args) => driver.inWorkspace(ctx, (workspace) => read(workspace, ctx, args)),
  });
