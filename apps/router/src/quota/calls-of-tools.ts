/** Calls that are looked at in one go. */
const LOOKED_AT_ONCE = 64;

/**
 * Calls in flight of the tools that have a cap of their own, as far as this router let them in: they count until this
 * router hears of their end, or reads it in their records. Never more than the cap.
 */
export class CallsOfTools {
  readonly #isOver: (tenant: string, callId: string) => Promise<boolean>;
  /** Of a tool and tenant: each call, and its tenant once it was accepted. */
  readonly #calls = new Map<string, Map<string, string>>();

  constructor(isOver: (tenant: string, callId: string) => Promise<boolean>) {
    this.#isOver = isOver;
  }

  count(tenant: string, tool: string): number {
    return this.#calls.get(`${tenant} ${tool}`)?.size ?? 0;
  }

  enter(tenant: string, tool: string, callId: string): void {
    const key = `${tenant} ${tool}`;
    const calls = this.#calls.get(key) ?? new Map<string, string>();
    this.#calls.set(key, calls);
    calls.set(callId, calls.get(callId) ?? '');
  }

  /** The request was answered with its call, which counts until it is over; without one it counts no more. */
  leave(tenant: string, tool: string, callId: string, isAccepted: boolean): void {
    const calls = this.#calls.get(`${tenant} ${tool}`);
    if (!isAccepted) calls?.delete(callId);
    else if (calls?.has(callId)) calls.set(callId, tenant);
  }

  over(tenant: string, tool: string, callId: string): void {
    this.#calls.get(`${tenant} ${tool}`)?.delete(callId);
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
