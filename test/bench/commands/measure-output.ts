import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { CommandFabric } from './command-fabric.ts';
import { forgetPeak, peakMiB, residentMiB } from './process-memory.ts';

export interface OutputNumbers {
  readonly bytes: number;
  /** Megabytes a second of the same program into a file through a plain pipe. */
  readonly plainMBs: number;
  /** The same through sandbox, redaction, summary and the artifact store. */
  readonly callMBs: number;
  readonly worker: { readonly beforeMiB: number; readonly peakMiB: number };
  readonly artifacts: { readonly beforeMiB: number; readonly peakMiB: number };
}

const Data = z.looseObject({ stdout: z.looseObject({ bytes: z.int(), artifact: z.string() }) });

const throughPipe = async (program: string, bytes: number): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-bench-'));
  try {
    const began = performance.now();
    const child = spawn('node', [program, String(bytes)], { stdio: ['ignore', 'pipe', 'ignore'] });
    await pipeline(child.stdout, createWriteStream(join(folder, 'out')));
    return performance.now() - began;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Much output of one program; whole, since the artifact has the bytes that the program wrote. */
export const measureOutput = async (fabric: CommandFabric, bytes: number): Promise<OutputNumbers> => {
  const plainMs = await throughPipe(fabric.loudProgram, bytes);
  const pids = [fabric.worker.pid, fabric.artifacts.pid] as const;
  for (const pid of pids) forgetPeak(pid);
  const before = pids.map(residentMiB);
  const { call, data } = await fabric.timeCall(fabric.loudTask, ['node', 'lines.js', String(bytes)]);
  const { stdout } = Data.parse(data);
  if (stdout.bytes !== bytes) throw new Error(`the result tells of ${stdout.bytes} bytes, and ${bytes} were written`);
  const { size } = await fabric.client.getArtifact(stdout.artifact);
  if (size !== bytes) throw new Error(`the artifact has ${size} bytes of ${bytes}`);
  const memory = pids.map((pid, at) => ({ beforeMiB: before[at] ?? Number.NaN, peakMiB: peakMiB(pid) }));
  const [worker, artifacts] = memory as [OutputNumbers['worker'], OutputNumbers['worker']];
  return { bytes, plainMBs: bytes / plainMs / 1_000, callMBs: bytes / call / 1_000, worker, artifacts };
};
