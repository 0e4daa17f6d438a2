/**
 * The one seam under the rules: where bytes and small documents stand. A driver knows tenants, digests and ids, and
 * nothing of owners, quotas or permits.
 *
 * B1 What was not committed is never readable, whenever the process or the machine stops.
 * B2 When a promise of `commit`, `writeDocument` or `appendLog` resolves, the bytes are durable.
 * B3 One process at a time holds a store. One that loses it says so by `lost` and stops.
 * B4 No name in it comes from a user: tenants are tokens, the rest are digests and ids of our own making.
 */
export interface ByteStore {
  /** Resolves with a reason when this process may not use the store any more. */
  readonly lost: Promise<string>;
  tenants(): Promise<string[]>;
  /** Deletes what writers left that died: to be called once, before anything is written. */
  sweepLeftovers(tenant: string): Promise<void>;

  beginBlob(tenant: string, signal: AbortSignal): Promise<BlobWriter>;
  /** Throws when there is no such blob. */
  readBlob(tenant: string, sha256: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** No error when it is not there. */
  removeBlob(tenant: string, sha256: string): Promise<void>;
  blobs(tenant: string): AsyncIterable<{ readonly sha256: string; readonly size: number }>;

  documents(tenant: string, family: Family): AsyncIterable<{ readonly name: string; readonly text: string }>;
  /** Atomic: a reader sees the old text or the new one. */
  writeDocument(tenant: string, family: Family, name: string, text: string): Promise<void>;
  removeDocument(tenant: string, family: Family, name: string): Promise<void>;

  logs(tenant: string): AsyncIterable<{ readonly id: string; readonly size: number }>;
  /** `position` is the present size. After an error the log is as long as before, or its size is told anew by `logs`. */
  appendLog(tenant: string, id: string, position: number, bytes: Uint8Array): Promise<void>;
  readLog(tenant: string, id: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array>;
  removeLog(tenant: string, id: string): Promise<void>;

  close(): Promise<void>;
}

/** Small documents: `records` by the id of the artifact, `heads` by a hash of the workspace. */
export type Family = 'records' | 'heads';
export const FAMILIES: readonly Family[] = ['records', 'heads'];

/** Bytes `from` up to and not including `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface BlobWriter {
  /** Resolves when the store is ready for more: back-pressure. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the bytes readable under their digest. A blob of that digest that is there already stays. */
  commit(sha256: string): Promise<void>;
  /** Forgets the bytes; safe at any time, without effect after `commit`. */
  discard(): Promise<void>;
}
