import { readFile } from 'node:fs/promises';

/** Bytes before the subject: length, sequence, time, length of the subject. */
const RECORD_HEAD = 22;
/** Set in a length when the message has headers, and in the upper half of a sequence when the message was removed. */
const FLAG = 0x8000_0000;
const UPPER_HALF = 2 ** 32;

export interface Block {
  readonly first: number;
  readonly last: number;
  /** Sequences of which only a placeholder is left. */
  readonly erased: readonly number[];
}

/** The messages of a block file, or undefined when it holds no whole one. A last one that was cut off is left out. */
export const readBlock = async (file: string): Promise<Block | undefined> => {
  const bytes = await readFile(file);
  const erased: number[] = [];
  let first: number | undefined;
  let last = 0;
  for (let at = 0; at + RECORD_HEAD <= bytes.length; ) {
    const length = bytes.readUInt32LE(at) % FLAG;
    if (length < RECORD_HEAD || at + length > bytes.length) break;
    const upper = bytes.readUInt32LE(at + 8);
    last = bytes.readUInt32LE(at + 4) + (upper % FLAG) * UPPER_HALF;
    first ??= last;
    if (upper >= FLAG) erased.push(last);
    at += length;
  }
  return first === undefined ? undefined : { first, last, erased };
};
