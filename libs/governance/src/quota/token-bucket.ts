export interface Rate {
  /** Calls in a second, over a long time. */
  readonly perSecond: number;
  /** Calls at once after a pause. */
  readonly burst: number;
}

/** A rate as one of several routers keeps it; a share may change at any time. */
export class TokenBucket {
  #tokens: number | undefined;
  #at = 0;

  /** Milliseconds to wait, or 0 when one was taken. `now` is monotonic, in milliseconds. */
  take({ perSecond, burst }: Rate, now: number): number {
    const most = Math.max(1, burst);
    const filled = this.#tokens === undefined ? most : this.#tokens + ((now - this.#at) / 1_000) * perSecond;
    this.#tokens = Math.min(most, filled);
    this.#at = now;
    if (this.#tokens < 1) return Math.max(1, Math.ceil(((1 - this.#tokens) / perSecond) * 1_000));
    this.#tokens -= 1;
    return 0;
  }
}
