import { LOG_NAME } from '@toolfabric/kernel';
import type { ArtifactSession, LiveLog, StoredArtifact } from '@toolfabric/ports';

/** Milliseconds that the program waits for one piece of the log; the piece itself is the log's, which sends or counts it. */
const APPEND_MS = 10_000;
/** Bytes that wait for the store; what comes on top is counted as a gap. */
const MOST_WAITING = 4 * 1024 * 1024;

class TooLate extends Error {}

const within = async <T>(work: Promise<T>, ms: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate('the artifact store takes nothing')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * The log of a background call, which its owner reads while it grows: both streams in the order in which they came.
 * A store that is away makes a gap in it that is counted; it never holds the program up for long.
 */
export class LogSink {
  readonly #log: LiveLog;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #lost = 0;

  constructor(log: LiveLog) {
    this.#log = log;
  }

  /** Undefined when the store does not answer within `openMs`: then there is no log, and the program runs all the same. */
  static async open(session: ArtifactSession | undefined, openMs: number): Promise<LogSink | undefined> {
    if (session === undefined) return undefined;
    const name = { name: LOG_NAME, mediaType: 'text/plain; charset=utf-8', trust: 'untrusted' } as const;
    // The signal goes with the log for as long as it is written: it must not end with the time for opening it.
    const life = new AbortController();
    try {
      return new LogSink(await within(session.openLog(name, life.signal), openMs));
    } catch {
      life.abort();
      return undefined;
    }
  }

  get id(): string {
    return this.#log.id;
  }

  /** Bytes that the log does not have. */
  get lost(): number {
    return this.#lost;
  }

  /** A promise when the program has to wait. Never rejects. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.length === 0) return undefined;
    if (this.#waiting > MOST_WAITING) {
      this.#skip(bytes.length);
      return undefined;
    }
    const copy = Uint8Array.from(bytes);
    this.#waiting += copy.length;
    this.#last = this.#last.then(() => this.#append(copy));
    return this.#last;
  }

  async close(): Promise<StoredArtifact | undefined> {
    await this.#last;
    return await within(this.#log.close(), APPEND_MS).catch(() => undefined);
  }

  async #append(bytes: Uint8Array): Promise<void> {
    try {
      await within(this.#log.append(bytes), APPEND_MS);
    } catch (thrown) {
      if (!(thrown instanceof TooLate)) this.#skip(bytes.length);
    } finally {
      this.#waiting -= bytes.length;
    }
  }

  #skip(bytes: number): void {
    this.#lost += bytes;
    this.#log.skip(bytes);
  }
}
