import { readFile } from 'node:fs/promises';
import { VarintReader, varint } from './varint.ts';

/** The magic number and the version of the format. */
const HEAD = [22, 1];
const CHECKSUM_BYTES = 8;

/** What an index file says of its block; it may be older than the block. */
export interface BlockIndex {
  readonly first: number;
  readonly last: number;
  readonly removed: ReadonlySet<number>;
}

const parseIndex = (bytes: Buffer): BlockIndex => {
  const reader = new VarintReader(bytes, HEAD.length);
  const [, , first = 0, , last = 0, , count = 0] = Array.from({ length: 7 }, () => reader.next());
  reader.offset += CHECKSUM_BYTES;
  const removed = new Set<number>();
  while (removed.size < count && reader.offset < bytes.length) removed.add(first + reader.next());
  return { first, last, removed };
};

/** Undefined when there is none, or it cannot be read. */
export const readIndex = async (file: string): Promise<BlockIndex | undefined> => {
  try {
    return parseIndex(await readFile(file));
  } catch {
    return undefined;
  }
};

/** The index of an empty block: the next message of the stream comes after `last`. */
export const emptyIndex = (last: number): Buffer =>
  Buffer.from([...HEAD, 0, 0, ...varint(last + 1), 0, ...varint(last), 0, 0, ...Array(CHECKSUM_BYTES).fill(0)]);
