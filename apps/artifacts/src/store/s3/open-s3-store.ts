/**
 * `<prefix><tenant>/` with `sha256/<digest>` (bytes), `records/` and `heads/` (documents), `logs/<id>/<position>` (logs
 * that still grow) and `tmp/` (what is going up). `<prefix>lease.json` says which process holds it all.
 */
import { Sha256, Token } from '@toolfabric/contract';
import { type Clock, FabricError, type Faults, type Logger, type Pace } from '@toolfabric/kernel';
import type { BlobWriter, ByteStore, Family, Span } from '../byte-store.ts';
import { readAhead } from '../read-ahead.ts';
import { S3BlobWriter } from './s3-blob-writer.ts';
import { ConditionFailed, S3Bucket } from './s3-bucket.ts';
import type { S3Config } from './s3-config.ts';
import { KEYS, lastPart } from './s3-keys.ts';
import { type Lease, takeLease } from './s3-lease.ts';
import { S3LogParts } from './s3-log-parts.ts';

export interface S3Surroundings {
  readonly pace: Pace;
  readonly faults: Faults;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Documents that are read at one time at start. */
const READ_AHEAD = 16;

/** Throws `conflict` when another process holds the bucket, and when the bucket cannot keep two apart. */
export const openS3Store = async (config: S3Config, around: S3Surroundings): Promise<ByteStore> => {
  const bucket = new S3Bucket(config);
  try {
    if (!(await keepsConditions(bucket)) && !config.unfenced) {
      throw new FabricError(
        'conflict',
        'the bucket does not keep conditions of writes, so that two processes could use it',
        {
          hint: 'Use a store that does, or set TOOLFABRIC_ARTIFACTS_S3_UNFENCED=1 and see to it that one process runs.',
        },
      );
    }
    return new S3Store(bucket, await takeLease(bucket, around.pace, around.clock), around);
  } catch (thrown) {
    bucket.close();
    throw thrown;
  }
};

/** Asked of the store itself: providers differ, and say so nowhere. */
const keepsConditions = async (bucket: S3Bucket): Promise<boolean> => {
  const key = KEYS.probe();
  try {
    await bucket.put(key, 'first', { type: 'absent' });
    await bucket.put(key, 'second', { type: 'absent' });
    return false;
  } catch (thrown) {
    if (thrown instanceof ConditionFailed) return true;
    throw thrown;
  } finally {
    await bucket.remove(key).catch(() => {});
  }
};

class S3Store implements ByteStore {
  readonly lost: Promise<string>;
  readonly #bucket: S3Bucket;
  readonly #lease: Lease;
  readonly #around: S3Surroundings;
  readonly #logs: S3LogParts;
  /** Tags of the heads, which are fences: a process that lost the bucket without knowing it moves none. */
  readonly #tags = new Map<string, string>();
  readonly #marked = new Set<string>();
  readonly #overtaken = Promise.withResolvers<string>();

  constructor(bucket: S3Bucket, lease: Lease, around: S3Surroundings) {
    this.#bucket = bucket;
    this.#lease = lease;
    this.#around = around;
    this.#logs = new S3LogParts(bucket);
    this.lost = Promise.race([lease.lost, this.#overtaken.promise]);
  }

  async tenants(): Promise<string[]> {
    const found: string[] = [];
    for await (const name of this.#bucket.folders()) if (Token.safeParse(name).success) found.push(name);
    return found;
  }

  async sweepLeftovers(tenant: string): Promise<void> {
    const folder = KEYS.temporaryFolder(tenant);
    for await (const { key } of this.#bucket.list(folder)) await this.#bucket.remove(key);
    await this.#bucket.abortUploads(folder).catch(() => this.#around.logger.warn('uploads_not_listed', { tenant }));
  }

  async beginBlob(tenant: string): Promise<BlobWriter> {
    this.#checkLease();
    await this.#mark(tenant);
    return new S3BlobWriter(this.#bucket, tenant, this.#around.faults);
  }

  readBlob(tenant: string, sha256: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#bucket.bytes(KEYS.blob(tenant, sha256), range, signal);
  }

  async removeBlob(tenant: string, sha256: string): Promise<void> {
    this.#checkLease();
    await this.#bucket.remove(KEYS.blob(tenant, sha256));
  }

  async *blobs(tenant: string): AsyncIterable<{ sha256: string; size: number }> {
    for await (const { key, size } of this.#bucket.list(KEYS.blobFolder(tenant))) {
      const sha256 = lastPart(key);
      if (Sha256.safeParse(sha256).success) yield { sha256, size };
    }
  }

  async *documents(tenant: string, family: Family): AsyncIterable<{ name: string; text: string }> {
    const listed = this.#bucket.list(KEYS.documentFolder(tenant, family));
    const documents = readAhead(listed, READ_AHEAD, ({ key }) => this.#readDocument(key, family));
    for await (const document of documents) if (document) yield document;
  }

  async writeDocument(tenant: string, family: Family, name: string, text: string): Promise<void> {
    const key = KEYS.document(tenant, family, name);
    this.#checkLease();
    await this.#mark(tenant);
    if (family === 'heads') await this.#writeFenced(key, text);
    else await this.#bucket.put(key, text);
    this.#around.faults.at('artifacts.after-document');
  }

  async removeDocument(tenant: string, family: Family, name: string): Promise<void> {
    this.#checkLease();
    await this.#bucket.remove(KEYS.document(tenant, family, name));
    this.#around.faults.at('artifacts.after-removal');
  }

  logs(tenant: string): AsyncIterable<{ id: string; size: number }> {
    return this.#logs.all(tenant);
  }

  async appendLog(tenant: string, id: string, position: number, bytes: Uint8Array): Promise<void> {
    this.#checkLease();
    this.#around.faults.at('artifacts.appending');
    await this.#logs.append(tenant, id, position, bytes);
  }

  readLog(tenant: string, id: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#logs.read(tenant, id, range, signal);
  }

  async removeLog(tenant: string, id: string): Promise<void> {
    this.#checkLease();
    await this.#logs.remove(tenant, id);
  }

  async close(): Promise<void> {
    await this.#lease.release();
    this.#bucket.close();
  }

  /** B3: a process that stood still changes nothing before it knows that the bucket is still its own. */
  #checkLease(): void {
    if (!this.#lease.isFresh()) throw new FabricError('unavailable', 'the bucket may be held by another process');
  }

  /** Before anything of a tenant is written for the first time. */
  async #mark(tenant: string): Promise<void> {
    if (this.#marked.has(tenant)) return;
    await this.#bucket.put(KEYS.tenant(tenant), JSON.stringify({ format: 1 }));
    this.#marked.add(tenant);
  }

  async #readDocument(key: string, family: Family): Promise<{ name: string; text: string } | undefined> {
    const read = await this.#bucket.text(key);
    if (!read) return undefined;
    if (family === 'heads') this.#tags.set(key, read.etag);
    return { name: lastPart(key).replace(/\.json$/, ''), text: read.text };
  }

  async #writeFenced(key: string, text: string): Promise<void> {
    const etag = this.#tags.get(key);
    try {
      const condition = etag === undefined ? ({ type: 'absent' } as const) : ({ type: 'is', etag } as const);
      this.#tags.set(key, await this.#bucket.putOwn(key, text, condition));
    } catch (thrown) {
      if (!(thrown instanceof ConditionFailed)) throw thrown;
      this.#overtaken.resolve('another process moved a head');
      throw new FabricError('unavailable', 'another process holds the artifacts', { cause: thrown });
    }
  }
}
