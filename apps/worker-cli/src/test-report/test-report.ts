/** One test that failed, as its runner told it. */
export interface FailedTest {
  readonly name: string;
  /** As the runner wrote it. */
  readonly file?: string;
  readonly line?: number;
  /** The beginning of what went wrong. */
  readonly message?: string;
}

export interface TestReport {
  readonly runner: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly FailedTest[];
  /** Failures that are not in the list. */
  readonly moreFailures: number;
}

/** Reads the output of one runner, line by line, in bounded memory. */
export interface ReportReader {
  line(text: string): void;
  /** Undefined when nothing in the output is of this runner. */
  report(): TestReport | undefined;
}

const MOST_FAILURES = 100;
const MOST_NAME = 300;
const MOST_MESSAGE = 500;

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** The failures of a run while they are read; each may get its place and its message later. */
export class Failures {
  readonly #all: { name: string; file?: string; line?: number; message?: string }[] = [];
  #more = 0;
  #refined: object | undefined;
  #open: { name: string; file?: string; line?: number; message?: string } | undefined;

  get size(): number {
    return this.#all.length + this.#more;
  }

  /** A new one, which the next calls describe; the same name again is the same failure. */
  begin(name: string): void {
    const short = name.trim().slice(0, MOST_NAME);
    this.#open = this.#all.find((failure) => failure.name === short);
    if (this.#open !== undefined) return;
    this.#open = { name: short };
    if (this.#all.length < MOST_FAILURES) this.#all.push(this.#open);
    else this.#more += 1;
  }

  /** Where; the first place counts. */
  at(file: string, line: string | number): void {
    if (this.#open === undefined || this.#open.file !== undefined) return;
    this.#open.file = file;
    this.#open.line = Number(line);
  }

  /** Where in that file exactly, once that is known. */
  refine(frame: string, line: string): void {
    if (this.#open?.file === undefined || this.#refined === this.#open) return;
    if (frame !== this.#open.file && !frame.endsWith(`/${this.#open.file}`)) return;
    this.#open.line = Number(line);
    this.#refined = this.#open;
  }

  /** What; the first text counts. */
  say(message: string): void {
    if (this.#open === undefined || this.#open.message !== undefined || message.trim() === '') return;
    this.#open.message = message.trim().slice(0, MOST_MESSAGE);
  }

  close(): void {
    this.#open = undefined;
  }

  drop(): void {
    const index = this.#open === undefined ? -1 : this.#all.indexOf(this.#open);
    if (index !== -1) this.#all.splice(index, 1);
    this.#open = undefined;
  }

  report(runner: string, { passed, failed, skipped }: Counts): TestReport {
    return {
      runner,
      passed,
      failed,
      skipped,
      failures: this.#all.map((one) => ({ ...one })),
      moreFailures: this.#more,
    };
  }
}

/** A line of a JavaScript stack. */
export const FRAME = /(?:\(|at )?(?:file:\/\/)?(\/[^()\s]+):(\d+):\d+\)?$/;

/** `3 failed` and the like, out of a line that counts several. */
export const countOf = (text: string, word: string): number =>
  Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
