import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { FabricError } from '@toolfabric/kernel';
import type { Span } from '../byte-store.ts';
import { toStoreError } from '../to-store-error.ts';
import type { S3Config } from './s3-config.ts';

/** The smallest part that the protocol takes; two of them are held of one upload. */
export const PART_BYTES = 5 * 1024 * 1024;
const CONNECT_MS = 5_000;
const SILENCE_MS = 60_000;

export interface Listed {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
}

/** What a write asks of the object that stands there: none, or the one of that tag. */
export type Condition = { readonly type: 'absent' } | { readonly type: 'is'; readonly etag: string };

/** Somebody else wrote first. */
export class ConditionFailed extends Error {
  override readonly name = 'ConditionFailed';
}

/** The few requests that the store makes of a bucket, below one prefix. Errors come out as `FabricError`. */
export class S3Bucket {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor({ bucket, prefix, region, endpoint, pathStyle, credentials }: S3Config) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#client = new S3Client({
      region,
      forcePathStyle: pathStyle,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(credentials === undefined ? {} : { credentials }),
      // Providers other than AWS refuse the checksums that are on by default.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
    });
  }

  /** The tag of the new object. Throws `ConditionFailed` when the condition does not hold. */
  async put(key: string, body: Uint8Array | string, condition?: Condition): Promise<string> {
    const command = new PutObjectCommand({
      ...this.#at(key),
      Body: body,
      ...(condition?.type === 'absent' ? { IfNoneMatch: '*' } : {}),
      ...(condition?.type === 'is' ? { IfMatch: condition.etag } : {}),
    });
    const { ETag = '' } = await this.#try(() => this.#client.send(command));
    return ETag;
  }

  /**
   * Like `put`, for a text that nobody else would write: when an answer was lost and the request was made again, its own
   * first try does not count as somebody else.
   */
  async putOwn(key: string, text: string, condition: Condition): Promise<string> {
    try {
      return await this.put(key, text, condition);
    } catch (thrown) {
      if (!(thrown instanceof ConditionFailed)) throw thrown;
      const present = await this.text(key);
      if (present?.text !== text) throw thrown;
      return present.etag;
    }
  }

  async text(key: string): Promise<{ text: string; etag: string } | undefined> {
    try {
      return await this.#try(async () => {
        const { Body, ETag = '' } = await this.#client.send(new GetObjectCommand(this.#at(key)));
        return { text: await textOf(Body as Readable), etag: ETag };
      });
    } catch (thrown) {
      if (isMissing(thrown)) return undefined;
      throw thrown;
    }
  }

  async *bytes(key: string, { from, to }: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const command = new GetObjectCommand({ ...this.#at(key), Range: `bytes=${from}-${to - 1}` });
    const { Body, ContentRange } = await this.#try(() => this.#client.send(command, { abortSignal: signal }));
    const stream = Body as Readable;
    const onAbort = () => stream.destroy(new Error('nobody wants it any more'));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      yield* cut(stream, from - beginOf(ContentRange), to - from);
    } catch (thrown) {
      throw toS3Error(thrown);
    } finally {
      signal.removeEventListener('abort', onAbort);
      stream.destroy();
    }
  }

  /** Sends a stream in parts. The object is there when `done` resolves, and not before. */
  upload(key: string, body: Readable): { done(): Promise<void>; abort(): Promise<void> } {
    const params = { ...this.#at(key), Body: body };
    const upload = new Upload({ client: this.#client, params, partSize: PART_BYTES, queueSize: 1 });
    return {
      done: () => this.#try(async () => void (await upload.done())),
      abort: () => upload.abort(),
    };
  }

  async copy(from: string, to: string): Promise<void> {
    const CopySource = encodeURI(`${this.#bucket}/${this.#prefix}${from}`);
    await this.#try(() => this.#client.send(new CopyObjectCommand({ ...this.#at(to), CopySource })));
  }

  async remove(key: string): Promise<void> {
    await this.#try(() => this.#client.send(new DeleteObjectCommand(this.#at(key))));
  }

  async *list(folder: string): AsyncIterable<Listed> {
    for await (const page of this.#pages({ Prefix: this.#prefix + folder })) {
      for (const { Key = '', Size = 0, ETag = '' } of page.Contents ?? []) {
        yield { key: Key.slice(this.#prefix.length), size: Size, etag: ETag };
      }
    }
  }

  /** Names of the folders directly below the prefix. */
  async *folders(): AsyncIterable<string> {
    for await (const page of this.#pages({ Prefix: this.#prefix, Delimiter: '/' })) {
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) yield Prefix.slice(this.#prefix.length, -1);
    }
  }

  /** Ends uploads in parts that nobody goes on with. Not every provider tells of them. */
  async abortUploads(folder: string): Promise<void> {
    const where = { Bucket: this.#bucket, Prefix: this.#prefix + folder };
    const { Uploads = [] } = await this.#try(() => this.#client.send(new ListMultipartUploadsCommand(where)));
    for (const { Key, UploadId } of Uploads) {
      if (!Key?.startsWith(where.Prefix)) continue;
      await this.#try(() =>
        this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })),
      );
    }
  }

  close(): void {
    this.#client.destroy();
  }

  async *#pages(query: { Prefix: string; Delimiter?: string }) {
    for (let token: string | undefined; ; ) {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        ...query,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      });
      const page = await this.#try(() => this.#client.send(command));
      yield page;
      token = page.NextContinuationToken;
      if (!page.IsTruncated || token === undefined) return;
    }
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw toS3Error(thrown);
    }
  }
}

/** A server may send more than was asked for (RFC 9110, 14.2), from another place on. */
const beginOf = (contentRange: string | undefined): number =>
  Number(/^bytes (\d+)-/.exec(contentRange ?? '')?.[1] ?? 0);

async function* cut(chunks: AsyncIterable<Uint8Array>, skip: number, length: number): AsyncIterable<Uint8Array> {
  let at = -skip;
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, -at), Math.max(0, length - at));
    at += chunk.byteLength;
    if (part.byteLength > 0) yield part;
    if (at >= length) return;
  }
  if (at < length) throw new FabricError('unavailable', 'the storage of the artifacts sent too little');
}

const statusOf = (thrown: unknown): number | undefined =>
  thrown instanceof S3ServiceException ? thrown.$metadata.httpStatusCode : undefined;

/** Two answers mean that somebody else was first: found out before the write, and during it. */
const toS3Error = (thrown: unknown): Error => {
  if (thrown instanceof ConditionFailed) return thrown;
  const status = statusOf(thrown);
  if (status === 412 || status === 409) return new ConditionFailed('somebody else wrote first', { cause: thrown });
  if (status === 503 || status === 429) {
    return new FabricError('overloaded', 'the storage of the artifacts asks for patience', {
      retryAfterMs: 1_000,
      cause: thrown,
    });
  }
  return toStoreError(thrown);
};

const isMissing = (thrown: unknown): boolean => thrown instanceof FabricError && statusOf(thrown.cause) === 404;
