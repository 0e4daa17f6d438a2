import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** What happened, one line each. Nothing is ever changed or taken away. */
export type TrackerLine =
  | {
      readonly event: 'comment';
      readonly id: string;
      readonly issue: number;
      readonly body: string;
      /** What the author calls it, to find it again. */
      readonly key: string;
      /** The `Idempotency-Key` of the request, where one came. */
      readonly idempotencyKey?: string;
      /** Milliseconds since the epoch. */
      readonly at: number;
    }
  | { readonly event: 'closed'; readonly issue: number; readonly at: number }
  /** A request that came, whatever became of it. */
  | { readonly event: 'request'; readonly method: string; readonly path: string; readonly at: number };

export type TrackerComment = Extract<TrackerLine, { event: 'comment' }>;

/** A line that was cut by a kill is no line. */
const parseLine = (line: string): TrackerLine[] => {
  try {
    return [JSON.parse(line) as TrackerLine];
  } catch {
    return [];
  }
};

export const readTrackerLog = (file: string): TrackerLine[] => {
  try {
    return readFileSync(file, 'utf8').split('\n').flatMap(parseLine);
  } catch {
    return [];
  }
};

/** The comments that really exist, by what their author called them. */
export const commentsIn = (file: string, key?: string): TrackerComment[] =>
  readTrackerLog(file).filter(
    (line): line is TrackerComment => line.event === 'comment' && (key === undefined || line.key === key),
  );

/** Appends for good: what was answered is on the disk. */
export class TruthLog {
  readonly #file: number;
  readonly lines: TrackerLine[];

  constructor(file: string) {
    this.lines = readTrackerLog(file);
    // A line that a kill has cut stays alone on its line.
    appendFileSync(file, this.lines.length === 0 ? '' : '\n');
    this.#file = openSync(file, 'a');
  }

  append(line: TrackerLine): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
    fsyncSync(this.#file);
    this.lines.push(line);
  }

  close(): void {
    closeSync(this.#file);
  }
}
