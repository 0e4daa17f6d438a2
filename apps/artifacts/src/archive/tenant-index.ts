import type { StoredHead, StoredRecord } from './stored-record.ts';
import { isSnapshot } from './stored-record.ts';

interface Blob {
  readonly size: number;
  references: number;
}

export interface Share {
  bytes: number;
  artifacts: number;
}

const shareKey = (callId: string, epoch: number): string => `${callId}.${epoch}`;

/** Everything that is known of one tenant, in memory: made from the documents at start, and changed with them. */
export class TenantIndex {
  readonly tenant: string;
  readonly heads = new Map<string, StoredHead>();
  /** What is being received: counted against the tenant before it is there. */
  readonly reserved: Share = { bytes: 0, artifacts: 0 };
  uploads = 0;
  /** Since when a snapshot was seen that its head does not need, in monotonic milliseconds. */
  readonly superseded = new Map<string, number>();
  /** Ids whose first read is being written down. */
  readonly marking = new Set<string>();
  readonly #records = new Map<string, StoredRecord>();
  readonly #blobs = new Map<string, Blob>();
  readonly #calls = new Map<string, Share>();
  readonly #byCall = new Map<string, Set<string>>();
  readonly #byTask = new Map<string, Set<string>>();
  #bytes = 0;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** Bytes that stand in the store, and those on their way; equal bytes count once. */
  get bytes(): number {
    return this.#bytes + this.reserved.bytes;
  }

  get artifacts(): number {
    return this.#records.size + this.reserved.artifacts;
  }

  get(id: string): StoredRecord | undefined {
    return this.#records.get(id);
  }

  records(): IterableIterator<StoredRecord> {
    return this.#records.values();
  }

  of(filter: { readonly taskId?: string | undefined; readonly callId?: string | undefined }): Iterable<StoredRecord> {
    const { taskId, callId } = filter;
    if (taskId === undefined && callId === undefined) return this.records();
    const ids = callId === undefined ? this.#byTask.get(taskId ?? '') : this.#byCall.get(callId);
    return [...(ids ?? [])].flatMap((id) => this.#records.get(id) ?? []);
  }

  /** Adds a record or takes the place of the one with its id. The bytes of a complete one are held apart. */
  set(stored: StoredRecord): void {
    const { id, callId, taskId, size } = stored.record;
    const before = this.#records.get(id);
    this.#records.set(id, stored);
    this.#bytes += liveBytes(stored) - liveBytes(before);
    this.charge(stored, size - (before?.record.size ?? 0), before ? 0 : 1);
    if (before) return;
    addTo(this.#byCall, callId, id);
    addTo(this.#byTask, taskId, id);
  }

  delete(id: string): void {
    const stored = this.#records.get(id);
    if (!stored) return;
    this.#records.delete(id);
    this.superseded.delete(id);
    this.#bytes -= liveBytes(stored);
    this.charge(stored, -stored.record.size, -1);
    removeFrom(this.#byCall, stored.record.callId, id);
    removeFrom(this.#byTask, stored.record.taskId, id);
  }

  /** What one epoch of a call has written or is writing, snapshots not counted. */
  shareOf(callId: string, epoch: number): Readonly<Share> {
    return this.#calls.get(shareKey(callId, epoch)) ?? { bytes: 0, artifacts: 0 };
  }

  charge(of: Pick<StoredRecord, 'epoch' | 'workspace'> & { record: { callId: string } }, bytes: number, count: number) {
    if (isSnapshot(of)) return;
    const key = shareKey(of.record.callId, of.epoch);
    const share = this.#calls.get(key) ?? { bytes: 0, artifacts: 0 };
    share.bytes += bytes;
    share.artifacts += count;
    if (share.bytes === 0 && share.artifacts === 0) this.#calls.delete(key);
    else this.#calls.set(key, share);
  }

  /** Room for bytes of a record that are on their way; given back with a negative number. */
  reserve(of: StoredRecord, bytes: number): void {
    this.reserved.bytes += bytes;
    this.charge(of, bytes, 0);
  }

  hasBlob(sha256: string): boolean {
    return this.#blobs.has(sha256);
  }

  blobSize(sha256: string): number | undefined {
    return this.#blobs.get(sha256)?.size;
  }

  /** One more reference; the first one brings the bytes. */
  hold(sha256: string, size: number): void {
    const blob = this.#blobs.get(sha256);
    if (blob) blob.references += 1;
    else {
      this.#blobs.set(sha256, { size, references: 1 });
      this.#bytes += size;
    }
  }

  /** One reference less; true when that was the last one. */
  drop(sha256: string): boolean {
    const blob = this.#blobs.get(sha256);
    if (!blob) return false;
    blob.references -= 1;
    if (blob.references > 0) return false;
    this.#blobs.delete(sha256);
    this.#bytes -= blob.size;
    return true;
  }
}

const liveBytes = (stored: StoredRecord | undefined): number =>
  stored?.record.state === 'live' ? stored.record.size : 0;

const addTo = (sets: Map<string, Set<string>>, key: string, id: string): void => {
  const set = sets.get(key);
  if (set) set.add(id);
  else sets.set(key, new Set([id]));
};

const removeFrom = (sets: Map<string, Set<string>>, key: string, id: string): void => {
  const set = sets.get(key);
  set?.delete(id);
  if (set?.size === 0) sets.delete(key);
};
