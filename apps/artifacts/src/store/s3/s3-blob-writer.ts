import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Faults } from '@toolfabric/kernel';
import type { BlobWriter } from '../byte-store.ts';
import { PART_BYTES, type S3Bucket } from './s3-bucket.ts';
import { KEYS } from './s3-keys.ts';

/** Bytes that go up in parts under a key that nobody reads. */
interface Large {
  readonly key: string;
  readonly stream: PassThrough;
  readonly upload: ReturnType<S3Bucket['upload']>;
  readonly done: Promise<void>;
}

/**
 * A small body waits in memory and becomes its object by one request. A larger one goes up in parts under a temporary
 * key, since its digest is known at its end only, and is then copied inside the store (B1).
 */
export class S3BlobWriter implements BlobWriter {
  readonly #bucket: S3Bucket;
  readonly #tenant: string;
  readonly #faults: Faults;
  #small: Uint8Array[] = [];
  #bytes = 0;
  #large: Large | undefined;
  #isOver = false;

  constructor(bucket: S3Bucket, tenant: string, faults: Faults) {
    this.#bucket = bucket;
    this.#tenant = tenant;
    this.#faults = faults;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#bytes += chunk.byteLength;
    if (this.#large) return this.#send(this.#large, chunk);
    this.#small.push(chunk);
    if (this.#bytes > PART_BYTES) await this.#grow();
    this.#faults.at('artifacts.receiving');
  }

  async commit(sha256: string): Promise<void> {
    const target = KEYS.blob(this.#tenant, sha256);
    this.#faults.at('artifacts.received');
    if (this.#large) {
      this.#large.stream.end();
      await this.#large.done;
      await this.#bucket.copy(this.#large.key, target);
      await this.#bucket.remove(this.#large.key).catch(() => {});
    } else {
      await this.#bucket.put(target, Buffer.concat(this.#small));
    }
    this.#isOver = true;
    this.#small = [];
    this.#faults.at('artifacts.after-blob');
  }

  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#small = [];
    if (!this.#large) return;
    await this.#large.upload.abort();
    this.#large.stream.destroy();
    await this.#large.done.catch(() => {});
    await this.#bucket.remove(this.#large.key);
  }

  async #grow(): Promise<void> {
    const key = KEYS.temporary(this.#tenant);
    const stream = new PassThrough({ highWaterMark: 256 * 1024 });
    const upload = this.#bucket.upload(key, stream);
    const done = upload.done();
    // Whoever writes or commits hears of it; a stream that nobody reads any more must not hold the writer.
    done.catch((thrown: unknown) => stream.destroy(thrown instanceof Error ? thrown : new Error('upload failed')));
    stream.on('error', () => {});
    this.#large = { key, stream, upload, done };
    const waiting = this.#small;
    this.#small = [];
    for (const chunk of waiting) await this.#send(this.#large, chunk);
  }

  async #send({ stream, done }: Large, chunk: Uint8Array): Promise<void> {
    if (stream.destroyed) return done;
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), done]);
  }
}
