import type { Must } from '../call-path/musts.ts';

export interface PartReport {
  /** Tables and what has to be said about them, as Markdown. */
  readonly text: string;
  readonly musts: readonly Must[];
}

/** One part of the benchmark, which can be measured by itself. */
export interface Part {
  /** As `--only` knows it. */
  readonly name: string;
  readonly heading: string;
  /** A quick look asks for less of everything. Ends everything that it has started. */
  measure(isQuick: boolean): Promise<PartReport>;
}
