import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Block, readBlock } from './block-file.ts';
import { type BlockIndex, emptyIndex, readIndex } from './index-file.ts';
import { VarintReader } from './varint.ts';

/** Digits of the greatest number that a block can have, 2^32 - 1. */
const DIGITS = 10;
/** More than a server stores in the two seconds by which an index can be late. */
const GAP = 1_000_000;

interface NumberedBlock {
  readonly number: number;
  readonly file: string;
}

export const paddedName = (number: number): string => `${String(number).padStart(DIGITS, '0')}.blk`;
export const plainName = (number: number): string => `${number}.blk`;

/** Renames the blocks of a folder and lists them in the order of writing. */
export const nameBlocks = async (folder: string, nameOf: (number: number) => string): Promise<NumberedBlock[]> => {
  const blocks: NumberedBlock[] = [];
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const digits = /^(\d+)\.blk$/.exec(name)?.[1];
    if (digits === undefined) continue;
    const number = Number(digits);
    const file = join(folder, nameOf(number));
    if (join(folder, name) !== file) await rename(join(folder, name), file);
    blocks.push({ number, file });
  }
  return blocks.sort((a, b) => a.number - b.number);
};

/** Whether the index is from before the block was compacted: then it counts messages that are no longer there. */
const isOutdated = (index: BlockIndex, block: Block): boolean =>
  block.first > index.first || block.erased.some((sequence) => sequence >= index.first && !index.removed.has(sequence));

/** The last sequence that a consumer was given, or 0. */
const deliveredTo = async (state: string): Promise<number> => {
  try {
    const reader = new VarintReader(await readFile(state), 2);
    return [reader.next(), reader.next(), reader.next(), reader.next()][3] ?? 0;
  } catch {
    return 0;
  }
};

const lastDelivered = async (consumers: string): Promise<number> => {
  const names = existsSync(consumers) ? await readdir(consumers) : [];
  return Math.max(0, ...(await Promise.all(names.map((name) => deliveredTo(join(consumers, name, 'o.dat'))))));
};

/** The end of a stream whose last block is empty. */
interface End {
  readonly file: string;
  readonly indexFile: string;
  readonly index: BlockIndex | undefined;
  /** The greatest sequence that anything tells of. */
  readonly known: number;
  readonly delivered: number;
}

/** When a file was changed last, in milliseconds, or 0 when there is none. */
const changedAt = (file: string): number => (existsSync(file) ? statSync(file).mtimeMs : 0);

/**
 * Gives the next message of an emptied stream a sequence that none had. An index is at most two seconds late, so a gap is
 * enough; where it was cut off and no consumer tells how far it was, only the clock is surely ahead.
 */
const endAfter = async ({ file, indexFile, index, known, delivered }: End, now: number): Promise<void> => {
  const last = index === undefined && delivered === 0 ? now * 1000 : known + GAP;
  await truncate(file, 0);
  await writeFile(`${indexFile}.new`, emptyIndex(last));
  await rename(`${indexFile}.new`, indexFile);
};

/**
 * Mends what a kill of the server leaves behind in a stream, where the server itself would lose messages by it:
 *
 * - An index that is older than the compaction of its block is removed. The server makes another from the block.
 * - Counts by subject are removed: the server believes them when their sum is right by chance.
 * - A stream that was emptied goes on after every sequence that it may have given: its index may not know the last ones,
 *   and consumers pass over what is not after the last that they got.
 *
 * Messages that were removed shortly before the kill may come back, as they do after any kill.
 */
export const mendStream = async (stream: string, now: number): Promise<void> => {
  const folder = join(stream, 'msgs');
  const blocks = await nameBlocks(folder, paddedName);
  const delivered = await lastDelivered(join(stream, 'obs'));
  let known = delivered;
  for (const { number, file } of blocks) {
    const indexFile = join(folder, `${number}.idx`);
    await rm(join(folder, `${number}.fss`), { force: true });
    const [block, index] = await Promise.all([readBlock(file), readIndex(indexFile)]);
    known = Math.max(known, block?.last ?? 0, index?.last ?? 0);
    if (block !== undefined) {
      if (index !== undefined && isOutdated(index, block)) await rm(indexFile);
    } else if (number !== blocks.at(-1)?.number) {
      await Promise.all([rm(file), rm(indexFile, { force: true })]);
    } else if (changedAt(file) > changedAt(join(stream, 'meta.inf'))) {
      await endAfter({ file, indexFile, index, known, delivered }, now);
    }
  }
};
