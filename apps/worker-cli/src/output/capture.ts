import { OutputSummary, type Summary } from '@toolfabric/results';
import type { Redactor } from '@toolfabric/worker-runtime';
import type { ArtifactSink, Kept } from './artifact-sink.ts';
import type { LogSink } from './log-sink.ts';

export interface CaptureOptions {
  readonly redactor: Redactor;
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly sink: ArtifactSink;
  /** The live log of a background call, shared by its streams. */
  readonly log: LogSink | undefined;
  /** Counts what all streams of a command bring together, and says when it is too much. */
  readonly meter: OutputMeter;
  /** Reads the stream too, redacted. */
  readonly listen?: (bytes: Uint8Array) => void;
}

/** What one stream brought. */
export interface Captured extends Summary {
  readonly artifact: Kept | undefined;
  /** Bytes that came and went into no artifact. */
  readonly dropped: number;
}

/** The output cap of a command. */
export class OutputMeter {
  readonly #most: number;
  readonly #atCap: 'end' | 'drop';
  #total = 0;

  constructor(most: number, atCap: 'end' | 'drop') {
    this.#most = most;
    this.#atCap = atCap;
  }

  get reached(): boolean {
    return this.#total > this.#most;
  }

  /** How many of these bytes are still within the cap, and whether the program is to be ended. */
  take(bytes: number): { within: number; end: boolean } {
    const within = Math.max(0, Math.min(bytes, this.#most - this.#total));
    this.#total += bytes;
    return { within, end: this.#atCap === 'end' && this.#total > this.#most };
  }
}

/** Takes one stream of a program in: redacted, summarised, stored, with memory that does not grow with it. */
export class Capture {
  readonly #options: CaptureOptions;
  readonly #redacting;
  readonly #summary;
  #dropped = 0;
  #total = 0;

  constructor(options: CaptureOptions) {
    this.#options = options;
    this.#redacting = options.redactor.stream();
    this.#summary = new OutputSummary({ headBytes: options.headBytes, tailBytes: options.tailBytes });
  }

  get total(): number {
    return this.#total;
  }

  /** For `onOutput`. */
  take = (chunk: Buffer): 'more' | 'enough' | Promise<'more' | 'enough'> => {
    this.#total += chunk.length;
    const { within, end } = this.#options.meter.take(chunk.length);
    this.#dropped += chunk.length - within;
    const answer = end ? 'enough' : 'more';
    const shown = this.#redacting.push(chunk);
    this.#summary.push(shown);
    this.#options.listen?.(shown);
    // What is past the cap is summarised still, since its end says how it went; it is stored nowhere.
    const stored = within === chunk.length ? shown : shown.subarray(0, Math.min(shown.length, within));
    const waits = [this.#options.sink.write(stored), this.#options.log?.write(shown)].filter(
      (wait) => wait !== undefined,
    );
    return waits.length === 0 ? answer : Promise.all(waits).then(() => answer);
  };

  async end(always: boolean): Promise<Captured> {
    const rest = this.#redacting.end();
    this.#summary.push(rest);
    this.#options.listen?.(rest);
    if (this.#dropped === 0) await this.#options.sink.write(rest);
    await this.#options.log?.write(rest);
    const artifact = await this.#options.sink.end(always);
    return { ...this.#summary.end(), artifact, dropped: this.#dropped };
  }
}
