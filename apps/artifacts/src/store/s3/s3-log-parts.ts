import type { Span } from '../byte-store.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { KEYS, lastPart } from './s3-keys.ts';

interface Part {
  readonly position: number;
  readonly size: number;
}

/** Logs as objects: one for each append, named by its position, since an object cannot grow. */
export class S3LogParts {
  readonly #bucket: S3Bucket;
  readonly #parts = new Map<string, Part[]>();

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  /** What stands in the bucket, without a gap from the beginning on. */
  async *all(tenant: string): AsyncIterable<{ id: string; size: number }> {
    const found = new Map<string, Part[]>();
    const folder = KEYS.logsFolder(tenant);
    for await (const { key, size } of this.#bucket.list(folder)) {
      const id = key.slice(folder.length, key.lastIndexOf('/'));
      const parts = found.get(id) ?? [];
      found.set(id, parts);
      if (Number(lastPart(key)) === endOf(parts)) parts.push({ position: endOf(parts), size });
    }
    for (const [id, parts] of found) {
      this.#parts.set(`${tenant}/${id}`, parts);
      yield { id, size: endOf(parts) };
    }
  }

  async append(tenant: string, id: string, position: number, bytes: Uint8Array): Promise<void> {
    await this.#bucket.put(KEYS.logPart(tenant, id, position), bytes);
    const parts = (this.#parts.get(`${tenant}/${id}`) ?? []).filter((part) => part.position < position);
    this.#parts.set(`${tenant}/${id}`, [...parts, { position, size: bytes.byteLength }]);
  }

  async *read(tenant: string, id: string, { from, to }: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    for (const { position, size } of this.#parts.get(`${tenant}/${id}`) ?? []) {
      const span = { from: Math.max(0, from - position), to: Math.min(size, to - position) };
      if (span.from < span.to) yield* this.#bucket.bytes(KEYS.logPart(tenant, id, position), span, signal);
    }
  }

  async remove(tenant: string, id: string): Promise<void> {
    for await (const { key } of this.#bucket.list(KEYS.logFolder(tenant, id))) await this.#bucket.remove(key);
    this.#parts.delete(`${tenant}/${id}`);
  }
}

const endOf = (parts: readonly Part[]): number => {
  const last = parts.at(-1);
  return last ? last.position + last.size : 0;
};
