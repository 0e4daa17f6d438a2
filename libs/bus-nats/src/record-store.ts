import { FabricError } from '@toolfabric/kernel';
import { type Changed, QueueFull, type Store, StoreUnavailable, type Versioned } from '@toolfabric/ports';
import type { z } from 'zod';
import { deleteMessage, findMessage, lastSequence, listSubjects, type StoredMessage, storeMessage } from './answers.ts';
import type { HopSeals, Seal } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import {
  bucketPrefix,
  bucketStream,
  checkedKey,
  messageDeleteSubject,
  messageGetSubject,
  streamInfoSubject,
} from './subjects.ts';
import { MAX_STORED_BYTES } from './topology.ts';

/** Which bucket a key or prefix belongs to, and all buckets of the family. */
export interface BucketFamily {
  readonly all: readonly string[];
  /** Throws a `RangeError` when the key does not name its bucket. */
  bucketOf(key: string): string;
}

export const oneBucket = (bucket: string): BucketFamily => ({ all: [bucket], bucketOf: () => bucket });

/**
 * A typed store by compare-and-set: one value a key, the stream sequence is the revision (protocol 1).
 *
 * `api` is the prefix under which the connection's account reaches the stream interface. With `sealed`, a record counts
 * only when it was written by one of the two whose seal it is.
 */
export class RecordStore<T> implements Store<T> {
  readonly #link: BusLink;
  readonly #api: string;
  readonly #family: BucketFamily;
  readonly #schema: z.ZodType<T>;
  readonly #sealed: Sealed | undefined;

  constructor(link: BusLink, api: string, family: BucketFamily, schema: z.ZodType<T>, sealed?: Sealed) {
    this.#link = link;
    this.#api = api;
    this.#family = family;
    this.#schema = schema;
    this.#sealed = sealed;
  }

  async get(key: string): Promise<Versioned<T> | undefined> {
    const { bucket, subject } = this.#place(key);
    const query = { last_by_subj: subject };
    const found = await findMessage(this.#link, messageGetSubject(this.#api, bucketStream(bucket)), query);
    if (found === undefined || isMarker(found)) return undefined;
    return { value: this.#parse(key, found), revision: found.seq };
  }

  create(key: string, value: T): Promise<number> {
    return this.#put(key, value, 0);
  }

  update(key: string, value: T, revision: number): Promise<number> {
    return this.#put(key, value, revision);
  }

  async remove(key: string, revision: number): Promise<boolean> {
    const { bucket, subject } = this.#place(key);
    const stream = bucketStream(bucket);
    const found = await findMessage(this.#link, messageGetSubject(this.#api, stream), { seq: revision });
    if (found?.subject !== subject) return false;
    return deleteMessage(this.#link, messageDeleteSubject(this.#api, stream), revision);
  }

  async keys(prefix: string): Promise<string[]> {
    const { bucket, subject } = this.#place(prefix);
    const info = streamInfoSubject(this.#api, bucketStream(bucket));
    const subjects = await listSubjects(this.#link, info, `${subject}.>`);
    return subjects.map((found) => found.slice(bucketPrefix(bucket).length));
  }

  /**
   * The first value that was written after `revision` and still stands, of the keys below a prefix: asked again and
   * again it tells every change, though of several changes of one key only the last. One that is not understood has no
   * value.
   */
  async next(prefix: string, revision: number): Promise<Changed<T> | undefined> {
    const { bucket, subject } = this.#place(prefix);
    const query = { seq: revision + 1, next_by_subj: `${subject}.>` };
    const found = await findMessage(this.#link, messageGetSubject(this.#api, bucketStream(bucket)), query);
    if (found === undefined) return undefined;
    const key = found.subject.slice(bucketPrefix(bucket).length);
    return { key, revision: found.seq, value: isMarker(found) ? undefined : this.#readable(key, found) };
  }

  async lastRevision(): Promise<number> {
    const ask = (bucket: string) => lastSequence(this.#link, streamInfoSubject(this.#api, bucketStream(bucket)));
    const last = await Promise.all(this.#family.all.map(ask));
    return last.reduce((sum, sequence) => sum + sequence, 0);
  }

  async #put(key: string, value: T, revision: number): Promise<number> {
    const { subject } = this.#place(key);
    const text = JSON.stringify(value);
    const data = Buffer.from(this.#sealed?.seal.close(placeOf(subject), text) ?? text, 'utf8');
    if (data.length > MAX_STORED_BYTES)
      throw new FabricError('too_large', 'the record is larger than a message may be');
    const header = { 'Nats-Expected-Last-Subject-Sequence': String(revision) };
    try {
      return (await storeMessage(this.#link, subject, data, header)).sequence;
    } catch (error) {
      if (error instanceof QueueFull) throw new StoreUnavailable('the store is full', { cause: error });
      throw error;
    }
  }

  #place(key: string): { bucket: string; subject: string } {
    const plain = checkedKey(key);
    const bucket = this.#family.bucketOf(plain);
    return { bucket, subject: bucketPrefix(bucket) + plain };
  }

  #readable(key: string, found: StoredMessage): T | undefined {
    try {
      return this.#parse(key, found);
    } catch {
      return undefined;
    }
  }

  #parse(key: string, { subject, data }: StoredMessage): T {
    const opened = this.#sealed === undefined ? data : this.#sealed.seal.open(placeOf(subject), data);
    if (opened === undefined) {
      this.#sealed?.hops.refused('record');
      throw new FabricError('internal', `the record ${key} is not of whoever may write it`);
    }
    try {
      return this.#schema.parse(JSON.parse(opened.toString('utf8')));
    } catch (error) {
      throw new FabricError('internal', `the record ${key} has another shape than expected`, { cause: error });
    }
  }
}

export interface Sealed {
  readonly seal: Seal;
  readonly hops: HopSeals;
}

const placeOf = (subject: string): string => `record ${subject}`;

/** What the ordinary key-value clients leave behind when an operator deletes a key with them. */
const isMarker = (message: StoredMessage): boolean => message.hdrs?.includes('KV-Operation') ?? false;
