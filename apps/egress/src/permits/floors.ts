export interface Revocation {
  readonly callId: string;
  /** Permits of this epoch and of all before it end. */
  readonly epoch: number;
}

/** Revocations that came to this process, the newest `most` of them. */
export class Floors {
  readonly #epochs = new Map<string, number>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  raise({ callId, epoch }: Revocation): void {
    const known = this.#epochs.get(callId) ?? 0;
    this.#epochs.delete(callId);
    this.#epochs.set(callId, Math.max(known, epoch));
    const [oldest] = this.#epochs.keys();
    if (this.#epochs.size > this.#most && oldest !== undefined) this.#epochs.delete(oldest);
  }

  covers({ callId, epoch }: Revocation): boolean {
    return (this.#epochs.get(callId) ?? 0) >= epoch;
  }
}
