/** Calls that are looked at in one go. */
const LOOKED_AT_ONCE = 64;

/**
 * Calls in flight of the tools that have a cap of their own, as far as this router let them in: their records are read
 * until they are over. Never more than the cap.
 */
export class CallsOfTools {
  readonly #isOver: (tenant: string, callId: string) => Promise<boolean>;
  readonly #calls = new Map<string, Map<string, string>>();
  #entered = 0;

  constructor(isOver: (tenant: string, callId: string) => Promise<boolean>) {
    this.#isOver = isOver;
  }

  count(tenant: string, tool: string): number {
    return this.#calls.get(`${tenant} ${tool}`)?.size ?? 0;
  }

  /** What it answers is called when the request is answered: with its call, which counts until it is over. */
  enter(tenant: string, tool: string, most: number | undefined): (callId?: string) => void {
    if (most === undefined) return () => {};
    const key = `${tenant} ${tool}`;
    const calls = this.#calls.get(key) ?? new Map<string, string>();
    this.#calls.set(key, calls);
    this.#entered += 1;
    const seat = `request ${this.#entered}`;
    calls.set(seat, '');
    return (callId) => {
      calls.delete(seat);
      if (callId !== undefined) calls.set(callId, tenant);
    };
  }

  async look(): Promise<void> {
    for (const [key, calls] of this.#calls) {
      const known = [...calls].filter(([, tenant]) => tenant !== '');
      for (let from = 0; from < known.length; from += LOOKED_AT_ONCE)
        await Promise.all(
          known.slice(from, from + LOOKED_AT_ONCE).map(async ([callId, tenant]) => {
            if (await this.#isOver(tenant, callId)) calls.delete(callId);
          }),
        );
      if (calls.size === 0) this.#calls.delete(key);
    }
  }
}
