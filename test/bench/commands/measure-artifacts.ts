import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArtifactStore } from '@toolfabric/artifact-http';
import { PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, systemClock } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import { median, spreadOf } from '../call-path/statistics.ts';
import type { CommandFabric } from './command-fabric.ts';

export interface ArtifactNumbers {
  readonly bytes: number;
  /** Megabytes a second: a copy of the file with an fsync, and a write into the store. */
  readonly copyMBs: number;
  readonly writeMBs: number;
  readonly rangeBytes: number;
  /** p50 in milliseconds of one range out of the file, and out of the store. */
  readonly fileRangeMs: number;
  readonly storeRangeMs: number;
}

const MIB = 1024 ** 2;
const RANGE = MIB;
const NEVER = new AbortController().signal;

const sessionOf = ({ cluster }: CommandFabric): { session: ArtifactSession; close(): void } => {
  const { kid, privateKey } = cluster.nats.signing;
  const actor = { tenant: 'acme', user: 'ada', agent: 'coder' };
  const permit = {
    ...{ action: 'call', actor, taskId: 't-0123456789abcdefghjkmnpqrs', callId: '2969-0123456789abcdefghjkmnpqrs' },
    ...{ epoch: 1, maxBytes: 4 * 1024 * MIB, retentionDays: 1, expires: systemClock.now() + 600_000 },
  };
  const store = createArtifactStore({ url: cluster.artifactsUrl });
  const envelope = createSigner(kid, privateKey).sign(PERMIT_TYPE, JSON.stringify(permit));
  return { session: store.session(envelope), close: () => store.close() };
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const copyDurably = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  await using file = await open(to, 'r+');
  await file.sync();
};

const readAll = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
  let size = 0;
  for await (const piece of pieces) size += piece.length;
  if (size !== RANGE) throw new Error(`a range of ${size} bytes`);
};

/** Writes of different bytes, so that no write finds its content there already. */
const contentOf = (bytes: number, round: number): Buffer => {
  const content = Buffer.alloc(bytes, `artifact ${round} of the benchmark\n`);
  content.writeUInt32LE(round, 0);
  return content;
};

/** One writer and one reader against the file system below the store, in turn. */
export const measureArtifacts = async (
  fabric: CommandFabric,
  bytes: number,
  rounds: number,
): Promise<ArtifactNumbers> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-bench-'));
  const { session, close } = sessionOf(fabric);
  const times = { copy: [] as number[], write: [] as number[], fileRange: [] as number[], storeRange: [] as number[] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      const file = join(folder, `file-${round}`);
      writeFileSync(file, contentOf(bytes, round));
      times.copy.push(await timed(() => copyDurably(file, `${file}.copy`)));
      let id = '';
      const name = { name: `bench-${round}`, mediaType: 'text/plain', trust: 'trusted' } as const;
      const write = async () => {
        id = (await session.put(name, createReadStream(file, { highWaterMark: 256 * 1024 }), NEVER)).id;
      };
      times.write.push(await timed(write));
      for (let from = 0; from + RANGE <= bytes; from += 8 * MIB) {
        const to = from + RANGE;
        times.fileRange.push(await timed(() => readAll(createReadStream(file, { start: from, end: to - 1 }))));
        times.storeRange.push(await timed(() => readAll(session.read(id, { from, to }, NEVER))));
      }
    }
  } finally {
    close();
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    bytes,
    copyMBs: bytes / median(times.copy) / 1_000,
    writeMBs: bytes / median(times.write) / 1_000,
    rangeBytes: RANGE,
    fileRangeMs: spreadOf(times.fileRange).p50,
    storeRangeMs: spreadOf(times.storeRange).p50,
  };
};
