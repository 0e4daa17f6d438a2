import { z } from 'zod';

/** What goes wrong with a write, or with a read. Each is armed for a number of them, and gone after these. */
export const FaultMode = z.enum([
  /** Written, and then the connection is closed without an answer. */
  'drop_receipt',
  /** Nothing is written, and the connection is closed. */
  'drop_request',
  /** Written at once, answered after `delayMs`. */
  'delay',
  /** Written after `delayMs` although its client may be gone by then: what no epoch of ours can stop. */
  'delay_write',
  /** Processed twice, as behind a proxy that repeats requests. */
  'duplicate',
  /** Written once and answered twice on one connection. */
  'duplicate_answer',
  /** Written, and answered with 500. */
  'error_after',
  /** Not written, and answered with 500: nothing in it says so. */
  'error_before',
  /** Not written: 429 with `Retry-After`. */
  'rate_limited',
  /** A read is answered the same. */
  'read_limited',
]);
export type FaultMode = z.infer<typeof FaultMode>;

export const Arm = z.strictObject({
  mode: FaultMode,
  /** Writes or reads that it befalls. */
  times: z.int().min(1).max(1_000).default(1),
  delayMs: z.int().min(0).max(60_000).default(0),
});
export type Arm = z.output<typeof Arm>;

export const Settings = z.strictObject({
  /** Whether an `Idempotency-Key` that was seen gives the first answer again instead of a second comment. */
  dedupe: z.boolean().optional(),
  /** A comment is listed and found only so many milliseconds after it was written. */
  searchLagMs: z.int().min(0).max(600_000).optional(),
  /** The `Authorization` that a request must show; empty: none. */
  accepts: z.string().max(300).optional(),
});
export type Settings = z.output<typeof Settings>;

/** First armed, first befalls. */
export class ArmedFaults {
  readonly #writes: { arm: Arm; left: number }[] = [];
  #limitedReads = 0;

  add(arm: Arm): void {
    if (arm.mode === 'read_limited') this.#limitedReads += arm.times;
    else this.#writes.push({ arm, left: arm.times });
  }

  clear(): void {
    this.#writes.length = 0;
    this.#limitedReads = 0;
  }

  /** What befalls the next write. */
  next(): Arm | undefined {
    const head = this.#writes[0];
    if (head === undefined) return undefined;
    head.left -= 1;
    if (head.left <= 0) this.#writes.shift();
    return head.arm;
  }

  limitsRead(): boolean {
    this.#limitedReads -= 1;
    if (this.#limitedReads >= 0) return true;
    this.#limitedReads = 0;
    return false;
  }
}
