/** A value with the revision that a compare-and-set needs. */
export interface Versioned<T> {
  readonly value: T;
  readonly revision: number;
}

/** A key with what stands there now; without a value when it cannot be read here. */
export interface Changed<T> {
  readonly key: string;
  readonly revision: number;
  readonly value: T | undefined;
}

/** The compare-and-set lost: somebody else wrote first. Nothing was written by this call. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
}

/**
 * The store did not answer: the write may or may not have been applied. The caller reads again and compares, or does
 * the same create-or-verify step once more; it never assumes.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * One typed store. Keys are dotted tokens (`call.3.acme.2969-…`). Values are validated when they are read, so that a
 * foreign or older record is an error at the border and not deep inside.
 */
export interface Store<T> {
  get(key: string): Promise<Versioned<T> | undefined>;
  /** Throws `RevisionConflict` when the key has a value. */
  create(key: string, value: T): Promise<number>;
  /** Throws `RevisionConflict` when the revision is not `revision` any more. */
  update(key: string, value: T, revision: number): Promise<number>;
  /** Deletes the stored message itself (no marker stays behind) when it still is `revision`; true when it was there. */
  remove(key: string, revision: number): Promise<boolean>;
  /** Keys below a prefix such as `open.3`, in no order. Only for small, bounded families. */
  keys(prefix: string): Promise<string[]>;
  /** A number that grows with every write to the store: the revision poll. */
  lastRevision(): Promise<number>;
}
