import { type Clock, FabricError } from '@toolfabric/kernel';
import { type Change, changeRecord } from '@toolfabric/ledger';
import { RevisionConflict, type Store } from '@toolfabric/ports';
import type { z } from 'zod';
import type { VaultKeys } from './vault-keys.ts';
import { openRecord, sealRecord, type VaultRecord } from './vault-record.ts';

/** A sealed record with what was in it. */
export interface Opened<T> {
  readonly secrets: T;
  readonly record: VaultRecord;
  readonly revision: number;
}

type Marks = Pick<VaultRecord, 'lease' | 'failed'>;

/** Sealed values of one shape, by compare-and-set. Only what is sealed ever reaches the store. */
export class Vault<T> {
  readonly #store: Store<VaultRecord>;
  readonly #keys: VaultKeys;
  readonly #schema: z.ZodType<T>;
  readonly #clock: Clock;

  constructor(store: Store<VaultRecord>, keys: VaultKeys, schema: z.ZodType<T>, clock: Clock) {
    this.#store = store;
    this.#keys = keys;
    this.#schema = schema;
    this.#clock = clock;
  }

  async read(place: string): Promise<Opened<T> | undefined> {
    const found = await this.#store.get(place);
    if (found === undefined) return undefined;
    const parsed = this.#schema.safeParse(JSON.parse(openRecord(this.#keys, place, found.value)));
    // The reason of a schema could quote what it read.
    if (!parsed.success) throw new FabricError('internal', 'a record of the vault has another shape than expected');
    return { secrets: parsed.data, record: found.value, revision: found.revision };
  }

  /** True when it was stored there; false when something stands there already. */
  async create(place: string, secrets: T): Promise<boolean> {
    try {
      await this.#store.create(place, this.#seal(place, secrets));
      return true;
    } catch (thrown) {
      if (thrown instanceof RevisionConflict) return false;
      throw thrown;
    }
  }

  /** Puts it there, whatever stood there. */
  put(place: string, secrets: T): Promise<Change<VaultRecord>> {
    const sealed = this.#seal(place, secrets);
    return changeRecord(this.#store, place, () => sealed, { clock: this.#clock });
  }

  /** Changes who is renewing it, when it still is what was read. A lost race gives false. */
  async mark(place: string, { record, revision }: Opened<T>, marks: Marks): Promise<boolean> {
    const { kid, nonce, text } = record;
    try {
      await this.#store.update(place, { kid, nonce, text, ...marks }, revision);
      return true;
    } catch (thrown) {
      if (thrown instanceof RevisionConflict) return false;
      throw thrown;
    }
  }

  /**
   * Ends a lease: with new secrets or without. False when it is not held any more, and nothing is stored then. Goes on
   * for `patienceMs` while the store does not answer: tokens that are not stored are lost.
   */
  async release(place: string, lease: string, end: { secrets: T } | Pick<Marks, 'failed'>, patienceMs: number) {
    const sealed = 'secrets' in end ? this.#seal(place, end.secrets) : undefined;
    const { done } = await changeRecord(
      this.#store,
      place,
      (current) => {
        if (current?.lease !== lease) return undefined;
        const { kid, nonce, text } = sealed ?? current;
        return { kid, nonce, text, ...('failed' in end && end.failed ? { failed: end.failed } : {}) };
      },
      { clock: this.#clock, patienceMs },
    );
    return done;
  }

  async remove(place: string): Promise<void> {
    const found = await this.#store.get(place);
    if (found !== undefined) await this.#store.remove(place, found.revision);
  }

  /** Takes it away when it still is what was read: true for one alone. */
  take(place: string, { revision }: Opened<T>): Promise<boolean> {
    return this.#store.remove(place, revision);
  }

  /** Everything below a place. */
  places(prefix: string): Promise<string[]> {
    return this.#store.keys(prefix);
  }

  #seal(place: string, secrets: T): VaultRecord {
    return sealRecord(this.#keys, place, JSON.stringify(secrets));
  }
}
