/**
 * Bodies in and out, chunk by chunk. Who sends or reads too slowly is cut off: only the time that we wait for the other
 * side counts, never our own.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, FabricError } from '@toolfabric/kernel';

export interface Patience {
  /** Milliseconds until the headers of a request are there. */
  readonly headersMs: number;
  /** Milliseconds without a byte. */
  readonly idleMs: number;
  /** Bytes a second that a body makes on average, once the other side let us wait for `graceMs`. */
  readonly leastRate: number;
  readonly graceMs: number;
}

export const PATIENCE: Patience = { headersMs: 10_000, idleMs: 30_000, leastRate: 1_024, graceMs: 30_000 };

/** For a body that a program writes while it runs: it ends when its permit does. */
export const patientUntil = (until: number, patience: Patience, clock: Clock): Patience => {
  const graceMs = Math.max(0, until - clock.now());
  return { ...patience, idleMs: graceMs, graceMs, leastRate: Number.POSITIVE_INFINITY };
};

/** Calls `onSlow` once when the other side is too slow. */
class Watch {
  readonly #patience: Patience;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;
  #waited = 0;
  #since: number | undefined;

  constructor(patience: Patience, clock: Clock, onSlow: () => void) {
    this.#patience = patience;
    this.#clock = clock;
    this.#timer = setInterval(
      () => {
        if (!this.#isSlow()) return;
        this.stop();
        onSlow();
      },
      Math.min(1_000, Math.max(10, patience.idleMs / 2)),
    );
    this.#timer.unref();
  }

  async wait<T>(work: Promise<T>): Promise<T> {
    const since = this.#clock.monotonic();
    this.#since = since;
    try {
      return await work;
    } finally {
      this.#waited += this.#clock.monotonic() - since;
      this.#since = undefined;
    }
  }

  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #isSlow(): boolean {
    if (this.#since === undefined) return false;
    const now = this.#clock.monotonic() - this.#since;
    const waited = this.#waited + now;
    const { idleMs, graceMs, leastRate } = this.#patience;
    return now > idleMs || (waited > graceMs && this.#bytes < (waited / 1000) * leastRate);
  }
}

const tooSlow = (): FabricError => new FabricError('invalid_request', 'the body came too slowly');

/** The body of a request; `begin` is called before the first chunk is asked for. Throws when it ends early. */
export async function* receiveBody(
  request: IncomingMessage,
  begin: () => unknown,
  patience: Patience,
  clock: Clock,
): AsyncIterable<Uint8Array> {
  const watch = new Watch(patience, clock, () => request.destroy(tooSlow()));
  // Destroying the request at an early return would break the connection before the answer.
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  begin();
  try {
    for (;;) {
      const next = await watch.wait(chunks.next());
      if (next.done) break;
      const chunk = next.value as Uint8Array;
      watch.moved(chunk.byteLength);
      yield chunk;
    }
    if (!request.complete) throw new FabricError('invalid_request', 'the body ended early');
  } finally {
    watch.stop();
    await chunks.return?.();
  }
}

/** The whole body, of at most `most` bytes; `too_large` otherwise. */
export const collectBody = async (chunks: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > most) throw new FabricError('too_large', `a body may have ${most} bytes here`);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
};

/** Sends chunks as fast as the reader takes them; `tally` is told of the bytes that were handed to the connection. */
export const sendBody = async (
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  tally: (bytes: number) => void,
  { patience, clock, signal }: { readonly patience: Patience; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> => {
  const slow = new AbortController();
  const watch = new Watch(patience, clock, () => {
    slow.abort();
    response.destroy();
  });
  const either = AbortSignal.any([signal, slow.signal]);
  try {
    for await (const chunk of chunks) {
      tally(chunk.byteLength);
      if (!response.write(chunk)) await watch.wait(once(response, 'drain', { signal: either }));
      watch.moved(chunk.byteLength);
    }
    response.end();
  } finally {
    watch.stop();
  }
};
