import type { Actor, TaintMark, TaintRecord, ToolContract } from '@toolfabric/contract';
import { mindsTaint, taintOf } from '@toolfabric/governance';
import type { Clock } from '@toolfabric/kernel';
import { taintKey } from '@toolfabric/ledger';
import type { Store } from '@toolfabric/ports';

/** For so long this router goes by what it read last, where taint cannot change what a call may do, in milliseconds. */
const FRESH_MS = 2_000;
const MOST_REMEMBERED = 5_000;

interface Seen {
  readonly record: TaintRecord | undefined;
  /** Monotonic. */
  readonly at: number;
}

/**
 * What agents have read from outside. Read anew for every call that could send something on or use a credential; for
 * the others, whose base rules do not look at it, what was read a moment ago will do.
 */
export class TaintBook {
  readonly #store: Store<TaintRecord>;
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(store: Store<TaintRecord>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async marksFor(
    actor: Actor,
    taskId: string,
    contract: ToolContract,
    args: Readonly<Record<string, unknown>>,
  ): Promise<TaintMark[]> {
    const key = taintKey(actor);
    const seen = this.#seen.get(key);
    const isFresh = seen !== undefined && this.#clock.monotonic() - seen.at < FRESH_MS;
    const record = isFresh && !mindsTaint(contract, args) ? seen.record : await this.#read(key);
    return taintOf(record, taskId, this.#clock.now());
  }

  async #read(key: string): Promise<TaintRecord | undefined> {
    const record = (await this.#store.get(key))?.value;
    this.#seen.delete(key);
    this.#seen.set(key, { record, at: this.#clock.monotonic() });
    const oldest = this.#seen.keys().next();
    if (this.#seen.size > MOST_REMEMBERED && !oldest.done) this.#seen.delete(oldest.value);
    return record;
  }
}
