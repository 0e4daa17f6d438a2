import { FabricError } from '@toolfabric/kernel';

/** Counts the requests in flight of each token. */
export class RequestsPerToken {
  readonly #limit: number;
  readonly #inFlight = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a place and returns the way to free it, once. Throws `overloaded` when there is none. */
  enter(tokenId: string): () => void {
    const count = this.#inFlight.get(tokenId) ?? 0;
    if (count >= this.#limit) {
      const message = `this token has ${count} requests in flight, which is its limit`;
      throw new FabricError('overloaded', message, { retryAfterMs: 1_000 });
    }
    this.#inFlight.set(tokenId, count + 1);
    return () => this.#leave(tokenId);
  }

  #leave(tokenId: string): void {
    const count = (this.#inFlight.get(tokenId) ?? 1) - 1;
    if (count === 0) this.#inFlight.delete(tokenId);
    else this.#inFlight.set(tokenId, count);
  }
}
