/**
 * Logs that grow. A position in the stream is `size + dropped`: what was kept and what was not.
 *
 * G1 An append names the position at which it begins, so that the same one again changes nothing.
 * G2 What does not fit (the cap of a log, the share of the call, the room of the tenant) is counted, never lost in silence.
 * G3 The bytes are stored before their count: after a crash a repeat finds how far it came.
 * G4 A gap is durable before its append is answered. When the store has lost it all the same, a writer that goes on
 *    after a restart is further than the log: what lies between is counted as a gap, and the log goes on.
 * G5 Room is taken before the bytes are written: many logs at one time do not share the same room.
 */
import { createHash } from 'node:crypto';
import { CLOCK_LEEWAY_MS } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { StoredArtifact } from '@toolfabric/ports';
import { type CallPermit, noSuchArtifact } from './access.ts';
import { type ArchiveContext, indexOf, keepBlob, releaseBlob, saveRecord, underArtifact } from './archive-context.ts';
import { type ArtifactHead, checkHead, newRecord } from './put-artifact.ts';
import { Reservation } from './reservation.ts';
import type { StoredRecord } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

export interface Append {
  readonly id: string;
  /** Position in the stream at which `bytes` begin; where the log stands when left out. */
  readonly offset: number | undefined;
  readonly bytes: Uint8Array;
  /** Bytes of the stream after `bytes` that the writer did not keep. */
  readonly skipped: number;
}

/** Where the log stands. */
export interface LogState {
  readonly size: number;
  readonly dropped: number;
}

const NEVER = new AbortController().signal;

export class LiveLogs {
  readonly #ctx: ArchiveContext;
  /** Monotonic milliseconds of the last append by `tenant/id`; of one that was there at start, the start. */
  readonly #touched = new Map<string, number>();
  readonly #startedAt: number;
  /** `tenant/id` of logs whose writer was heard since the start: from then on its position is known here. */
  readonly #heard = new Set<string>();
  /** `tenant/id` of logs whose last gap could not be saved yet. */
  readonly #unsaved = new Set<string>();

  constructor(ctx: ArchiveContext) {
    this.#ctx = ctx;
    this.#startedAt = ctx.clock.monotonic();
  }

  /** `head` opens a log that is not there. Throws `conflict` for a position that the stream did not reach. */
  append(permit: CallPermit, append: Append, head: ArtifactHead | undefined): Promise<LogState> {
    const { tenant } = permit.actor;
    return underArtifact(this.#ctx, tenant, append.id, async () => {
      const index = indexOf(this.#ctx, tenant);
      const stored = index.get(append.id) ?? (await this.#open(index, permit, append, head));
      checkWriter(stored, permit);
      const { size, dropped } = (await this.#add(index, stored, permit, append)).record;
      return { size, dropped };
    });
  }

  /** The log as a complete artifact, with `skipped` more bytes at its end. A closed one is found again. */
  close(permit: CallPermit, append: Append): Promise<StoredArtifact & LogState> {
    const { tenant } = permit.actor;
    return underArtifact(this.#ctx, tenant, append.id, async () => {
      const index = indexOf(this.#ctx, tenant);
      const stored = index.get(append.id);
      if (!stored) throw noSuchArtifact();
      checkWriter(stored, permit);
      const last = await this.#add(index, stored, permit, append);
      const {
        id,
        size,
        sha256 = '',
        dropped,
      } = (last.record.state === 'complete' ? last : await this.#seal(index, last, {})).record;
      return { id, size, sha256, dropped };
    });
  }

  /** Closes a log whose writer is gone: its permit is over, and nothing came for a while. */
  async closeIfLost(index: TenantIndex, { record }: StoredRecord): Promise<boolean> {
    const { clock, limits } = this.#ctx;
    const touched = this.#touched.get(`${index.tenant}/${record.id}`) ?? this.#startedAt;
    if (clock.monotonic() - touched < limits.logQuietMs) return false;
    return underArtifact(this.#ctx, index.tenant, record.id, async () => {
      const present = index.get(record.id);
      if (!present || !hasLostWriter(present, clock.now())) return false;
      await this.#seal(index, present, { lost: true });
      return true;
    });
  }

  async #open(
    index: TenantIndex,
    permit: CallPermit,
    { offset }: Append,
    head: ArtifactHead | undefined,
  ): Promise<StoredRecord> {
    if (!head || offset !== 0) throw noSuchArtifact();
    const workspace = checkHead(permit, head);
    if (workspace !== undefined) throw new FabricError('forbidden', 'a snapshot is no log');
    const { callId, epoch, maxBytes } = permit;
    const room = new Reservation(this.#ctx, index, { callId, epoch, maxBytes });
    try {
      const stored = { ...newRecord(this.#ctx, permit, head, undefined, undefined), writableUntil: permit.expires };
      await saveRecord(this.#ctx, index, stored);
      return stored;
    } finally {
      room.release();
    }
  }

  async #add(
    index: TenantIndex,
    stored: StoredRecord,
    permit: CallPermit,
    { id, offset, bytes, skipped }: Append,
  ): Promise<StoredRecord> {
    const { record } = stored;
    const key = `${index.tenant}/${id}`;
    // Forgotten when the log is closed: what comes for a closed one must not bring it back.
    if (record.state === 'live') this.#touched.set(key, this.#ctx.clock.monotonic());
    const reached = record.size + record.dropped;
    const at = offset ?? reached;
    const missing = record.state === 'live' && !this.#heard.has(key) ? Math.max(0, at - reached) : 0; // G4
    const known = reached + missing - at;
    if (known < 0) throw new FabricError('conflict', `the stream is at ${reached}, not at ${offset}`);
    if (missing === 0 && known >= bytes.byteLength + skipped) return this.#confirm(index, stored); // G1
    if (record.state !== 'live') throw new FabricError('conflict', 'the log is closed');

    const fresh = bytes.subarray(Math.min(known, bytes.byteLength));
    const kept = fresh.subarray(0, this.#room(index, stored, permit));
    const lost = missing + bytes.byteLength + skipped - known - kept.byteLength;
    const writableUntil = Math.max(stored.writableUntil ?? 0, permit.expires);
    const size = record.size + kept.byteLength;
    const gap = lost > 0 ? { gapAt: record.gapAt ?? (missing > 0 ? record.size : size) } : {};
    const next = { ...stored, writableUntil, record: { ...record, size, dropped: record.dropped + lost, ...gap } };
    await this.#write(index, stored, next, kept);
    if (lost > 0) this.#unsaved.add(key);
    return this.#confirm(index, next);
  }

  /** G3, G5. */
  async #write(index: TenantIndex, stored: StoredRecord, next: StoredRecord, kept: Uint8Array): Promise<void> {
    const { id, size } = stored.record;
    index.reserve(stored, kept.byteLength);
    try {
      if (kept.byteLength > 0) await this.#ctx.store.appendLog(index.tenant, id, size, kept);
      index.set(next);
    } finally {
      index.reserve(stored, -kept.byteLength);
    }
  }

  /** G4: nothing is answered before its gap is saved, however often that has to be tried. */
  async #confirm(index: TenantIndex, stored: StoredRecord): Promise<StoredRecord> {
    const key = `${index.tenant}/${stored.record.id}`;
    if (this.#unsaved.has(key)) await saveRecord(this.#ctx, index, stored);
    this.#unsaved.delete(key);
    if (stored.record.state === 'live') this.#heard.add(key);
    return stored;
  }

  /** G2: bytes that may still be kept. */
  #room(index: TenantIndex, { record, epoch }: StoredRecord, permit: CallPermit): number {
    const { logBytes, tenantBytes } = this.#ctx.limits;
    const ofCall = permit.maxBytes - index.shareOf(record.callId, epoch).bytes;
    return Math.max(0, Math.min(logBytes - record.size, ofCall, tenantBytes - index.bytes));
  }

  /** The bytes become a blob, the record complete, and only then the growing file goes. */
  async #seal(index: TenantIndex, stored: StoredRecord, extra: { lost?: true }): Promise<StoredRecord> {
    const { store } = this.#ctx;
    const { id, size } = stored.record;
    const writer = await store.beginBlob(index.tenant, NEVER);
    try {
      const hash = createHash('sha256');
      for await (const chunk of store.readLog(index.tenant, id, { from: 0, to: size }, NEVER)) {
        hash.update(chunk);
        await writer.write(chunk);
      }
      const sha256 = hash.digest('hex');
      const complete: StoredRecord = { ...stored, record: { ...stored.record, sha256, state: 'complete', ...extra } };
      await keepBlob(this.#ctx, index, writer, { sha256, size });
      await this.#complete(index, stored, complete);
      for (const known of [this.#touched, this.#heard, this.#unsaved]) known.delete(`${index.tenant}/${id}`);
      this.#ctx.events.about('artifact.stored', complete, extra);
      await store.removeLog(index.tenant, id).catch(() => this.#ctx.logger.warn('leftover', { tenant: index.tenant }));
      return complete;
    } finally {
      await writer.discard().catch(() => {});
    }
  }

  /** When it is not known which record stands, the bytes stay held until the next start. */
  async #complete(index: TenantIndex, live: StoredRecord, complete: StoredRecord): Promise<void> {
    try {
      await saveRecord(this.#ctx, index, complete);
    } catch (thrown) {
      const isLive = await saveRecord(this.#ctx, index, live).then(
        () => true,
        () => false,
      );
      if (isLive) await releaseBlob(this.#ctx, index, complete.record.sha256 ?? '').catch(() => {});
      throw thrown;
    }
  }
}

/** One call, one epoch: whoever took over writes a log of its own. */
const checkWriter = ({ record, epoch }: StoredRecord, permit: CallPermit): void => {
  if (record.callId !== permit.callId || epoch !== permit.epoch) throw noSuchArtifact();
};

/** Whether nobody may write to the log any more; it may still be that its last append is on its way. */
export const hasLostWriter = ({ record, writableUntil = 0 }: StoredRecord, now: number): boolean =>
  record.state === 'live' && writableUntil + CLOCK_LEEWAY_MS < now;
