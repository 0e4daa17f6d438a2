import { ERROR_TABLE } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { ArtifactName, ArtifactSession, StoredArtifact } from '@toolfabric/ports';
import { Channel } from './channel.ts';

/** What became of bytes that were to be stored whole. */
export type Kept =
  | { readonly stored: StoredArtifact; readonly name: string; readonly mediaType: string }
  /** Why there is no artifact. */
  | { readonly missing: string };

export interface SinkOptions {
  readonly session: ArtifactSession | undefined;
  readonly name: ArtifactName;
  /** Bytes that are held back: a stream that has no more is shown whole, and not stored. */
  readonly holdBytes: number;
  /** Milliseconds without progress after which the store is given up. */
  readonly stallMs: number;
}

/** Bytes between a program and the store. */
const QUEUE_BYTES = 1024 * 1024;

const reasonOf = (thrown: unknown): string =>
  thrown instanceof FabricError
    ? `${thrown.type}: ${ERROR_TABLE[thrown.type].meaning}`
    : 'the artifact store does not answer';

/** Stores a stream while it comes. Whatever the store does, the stream goes on and the reason is told at the end. */
export class ArtifactSink {
  readonly #options: SinkOptions;
  readonly #channel = new Channel(QUEUE_BYTES);
  readonly #stop = new AbortController();
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #put: Promise<Kept> | undefined;
  #given: string | undefined;

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  /** A promise when the program has to wait. Never rejects. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#given !== undefined || bytes.length === 0) return undefined;
    if (this.#put !== undefined) return this.#push(bytes);
    // A copy: the pipe may use its buffer again.
    this.#held.push(Uint8Array.from(bytes));
    this.#heldBytes += bytes.length;
    return this.#heldBytes > this.#options.holdBytes ? this.#open() : undefined;
  }

  /** Undefined when there was so little that nothing was stored; `always` stores it all the same. */
  async end(always = false): Promise<Kept | undefined> {
    if (always && this.#put === undefined && this.#heldBytes > 0) await this.#open();
    if (this.#put === undefined) return this.#given === undefined ? undefined : { missing: this.#given };
    this.#channel.close();
    const stalled = this.#stall(this.#options.stallMs);
    try {
      return await Promise.race([this.#put, stalled.wait]);
    } finally {
      stalled.stop();
    }
  }

  #open(): Promise<void> | undefined {
    const { session, name } = this.#options;
    const held = this.#held.splice(0);
    if (session === undefined) {
      this.#given = 'this call may store no artifact';
      return undefined;
    }
    this.#put = session.put(name, this.#channel, this.#stop.signal).then(
      (stored) => ({ stored, name: name.name, mediaType: name.mediaType }),
      (thrown: unknown) => {
        this.#giveUp(reasonOf(thrown));
        return { missing: this.#given ?? reasonOf(thrown) };
      },
    );
    return held.map((bytes) => this.#push(bytes)).at(-1);
  }

  #push(bytes: Uint8Array): Promise<void> | undefined {
    const full = this.#channel.push(Uint8Array.from(bytes));
    if (full === undefined) return undefined;
    const stalled = this.#stall(this.#options.stallMs);
    return Promise.race([full, stalled.wait.then(() => {})]).finally(stalled.stop);
  }

  #stall(ms: number): { wait: Promise<Kept>; stop: () => void } {
    let timer: NodeJS.Timeout | undefined;
    const wait = new Promise<Kept>((resolve) => {
      timer = setTimeout(() => {
        this.#giveUp('the artifact store takes nothing');
        resolve({ missing: 'the artifact store takes nothing' });
      }, ms);
    });
    return { wait, stop: () => clearTimeout(timer) };
  }

  /** The half that was sent is never committed: its stream ends with an error. */
  #giveUp(why: string): void {
    if (this.#given !== undefined) return;
    this.#given = why;
    this.#channel.fail(new Error(why));
    this.#stop.abort(new Error(why));
  }
}
