import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

export interface DiffInput {
  readonly path: string;
  /** Undefined for a file that did not exist. */
  readonly before: string | undefined;
  /** Undefined for a file that is gone. */
  readonly after: string | undefined;
  /** Milliseconds for the smallest diff. */
  readonly timeoutMs?: number;
}

const CONTEXT = 3;
/** Milliseconds for the smallest diff; a coarse one takes its place afterwards. */
const TIMEOUT_MS = 300;

const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

const marked = (mark: string, lines: readonly string[]): string =>
  lines.map((line) => (line.endsWith('\n') ? mark + line : `${mark}${line}\n\\ No newline at end of file\n`)).join('');

const range = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`;

/** One hunk from the first changed line to the last: right, though not the smallest. */
const coarseHunk = (before: string, after: string): string => {
  const [a, b] = [before === '' ? [] : linesOf(before), after === '' ? [] : linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [from, lead] = [Math.max(0, head - CONTEXT), Math.min(head, CONTEXT)];
  const trail = Math.min(tail, CONTEXT);
  const [oldLines, newLines] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const trailing = a.slice(a.length - tail, a.length - tail + trail);
  const around = lead + trail;
  return `@@ -${range(from, oldLines.length + around)} +${range(from, newLines.length + around)} @@\n${marked(' ', a.slice(from, head))}${marked('-', oldLines)}${marked('+', newLines)}${marked(' ', trailing)}`;
};

/** The unified diff of one file as `git apply` takes it. Bounded in time whatever the two texts hold. */
export const unifiedDiff = ({ path, before, after, timeoutMs = TIMEOUT_MS }: DiffInput): string => {
  const oldName = before === undefined ? '/dev/null' : `a/${path}`;
  const newName = after === undefined ? '/dev/null' : `b/${path}`;
  const options = { context: CONTEXT, timeout: timeoutMs, headerOptions: FILE_HEADERS_ONLY };
  const patch =
    timeoutMs > 0
      ? createTwoFilesPatch(oldName, newName, before ?? '', after ?? '', undefined, undefined, options)
      : undefined;
  if (patch !== undefined) return patch;
  const { timeout: _, ...plain } = options;
  const header = createTwoFilesPatch(oldName, newName, '', '', undefined, undefined, plain);
  return header + coarseHunk(before ?? '', after ?? '');
};
