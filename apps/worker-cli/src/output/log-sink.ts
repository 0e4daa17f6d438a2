import { LOG_NAME } from '@toolfabric/kernel';
import type { ArtifactSession, LiveLog } from '@toolfabric/ports';

/** Milliseconds that opening or closing the log may take; the log goes without it. */
const ANSWER_MS = 10_000;
/** Output that is younger and less than this waits: a store is not asked for a few bytes before somebody could read them. */
const HOLD_MS = 250;
const HOLD_BYTES = 8 * 1024;
/** Bytes between the program and the log; with more the program waits. */
const MOST_WAITING = 1024 * 1024;
/** Bytes of one log; what comes on top is counted as a gap. */
const MOST_BYTES = 16 * 1024 * 1024;

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

const NAME = { name: LOG_NAME, mediaType: 'text/plain; charset=utf-8', trust: 'untrusted' } as const;

/**
 * The log of a background call, which its owner reads while it grows: both streams in the order in which they came. It
 * begins with the first output, a moment later; a command that says nothing has none. A store that is away makes a gap that is counted;
 * it never holds the program up for long.
 */
export class LogSink {
  readonly #session: ArtifactSession;
  /** Goes with the log for as long as it is written. */
  readonly #life = new AbortController();
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> | undefined;
  #log: LiveLog | undefined;
  /** Resolves when everything that was written so far is stored, or counted as lost. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #taken = 0;
  #lost = 0;
  #dead = false;

  constructor(session: ArtifactSession) {
    this.#session = session;
  }

  /** Undefined for a log that was never begun. */
  get id(): string | undefined {
    return this.#log?.id;
  }

  /** Bytes that the log does not have. */
  get lost(): number {
    return this.#lost;
  }

  /** A promise when the program has to wait. Never rejects. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.length === 0) return undefined;
    if (this.#dead || this.#taken + bytes.length > MOST_BYTES) {
      this.#skip(bytes.length);
      return undefined;
    }
    this.#taken += bytes.length;
    this.#waiting += bytes.length;
    if (this.#log !== undefined) this.#append(this.#log, bytes);
    // A copy: the pipe may use its buffer again.
    else this.#hold(Uint8Array.from(bytes));
    return this.#waiting > MOST_WAITING ? this.#last : undefined;
  }

  /** Resolves when the log is closed, or the store did not answer in time. */
  async close(): Promise<void> {
    if (this.#heldBytes > 0) this.#begin();
    await this.#opening;
    if (this.#log === undefined) return;
    await within(
      this.#last.then(() => this.#log?.close()),
      ANSWER_MS,
    ).catch(() => undefined);
    this.#life.abort();
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#opening !== undefined) return;
    if (this.#heldBytes > HOLD_BYTES) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), HOLD_MS);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    if (this.#opening !== undefined) return;
    this.#opening = this.#open();
    this.#last = this.#opening;
  }

  async #open(): Promise<void> {
    try {
      const log = await within(this.#session.openLog(NAME, this.#life.signal), ANSWER_MS);
      this.#log = log;
      if (this.#lost > 0) log.skip(this.#lost);
    } catch {
      this.#dead = true;
      this.#life.abort();
    }
    for (const bytes of this.#held.splice(0)) {
      if (this.#log !== undefined) this.#append(this.#log, bytes);
      else {
        this.#waiting -= bytes.length;
        this.#skip(bytes.length);
      }
    }
  }

  /** The log takes pieces in the order in which they are given to it, also while earlier ones are on their way. */
  #append(log: LiveLog, bytes: Uint8Array): void {
    const appended = log
      .append(bytes)
      .catch(() => this.#skip(bytes.length))
      .finally(() => {
        this.#waiting -= bytes.length;
      });
    const before = this.#last;
    this.#last = appended.then(() => before);
  }

  #skip(bytes: number): void {
    this.#lost += bytes;
    this.#log?.skip(bytes);
  }
}
