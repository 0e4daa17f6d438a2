import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { SpawnedService } from '@toolfabric/testkit';
import { Cluster } from '../../support/cluster.ts';

/** Writes text lines of 100 bytes to standard output, as many bytes as its argument says. */
const LINES_PROGRAM = `
const size = Number(process.argv[2]);
const line = '[1234/5678] compiling src/module/some-file.ts took 12 ms, and 3 warnings were told about it, 0 errors .\\n';
const block = Buffer.from(line.repeat(640));
let left = size;
const write = () => {
  while (left > 0) {
    const part = left >= block.length ? block : block.subarray(0, left);
    left -= part.length;
    if (!process.stdout.write(part)) return process.stdout.once('drain', write);
  }
};
write();
`;

type Parts = Omit<CommandFabric, 'stop' | 'timeCall'>;

/** The services as processes of their own, at the pace of production, with an empty workspace and one that writes much. */
export class CommandFabric {
  readonly cluster: Cluster;
  readonly client: FabricClient;
  readonly worker: SpawnedService;
  readonly artifacts: SpawnedService;
  readonly emptyTask: string;
  readonly loudTask: string;
  readonly loudProgram: string;

  private constructor(parts: Parts) {
    this.cluster = parts.cluster;
    this.client = parts.client;
    this.worker = parts.worker;
    this.artifacts = parts.artifacts;
    this.emptyTask = parts.emptyTask;
    this.loudTask = parts.loudTask;
    this.loudProgram = parts.loudProgram;
  }

  static async start(): Promise<CommandFabric> {
    const cluster = await Cluster.startWith(['artifacts'], { pace: 'production' });
    try {
      const artifacts = await cluster.ensure('artifacts');
      const env = { TOOLFABRIC_COMMAND_OUTPUT_BYTES: String(1024 ** 3) };
      const worker = cluster.spawn('cli', '', env);
      await worker.ready;
      await Promise.all([cluster.ensure('router'), cluster.ensure('gateway')]);
      const client = cluster.client();
      const folder = join(cluster.workspaceRoot, 'loud');
      mkdirSync(folder, { recursive: true });
      const loudProgram = join(folder, 'lines.js');
      writeFileSync(loudProgram, LINES_PROGRAM);
      const empty = await client.createTask({ title: 'empty', workspace: { type: 'empty' } });
      const loud = await client.createTask({ title: 'loud', workspace: { type: 'existing', path: folder } });
      const tasks = { emptyTask: empty.taskId, loudTask: loud.taskId };
      return new CommandFabric({ cluster, client, worker, artifacts, loudProgram, ...tasks });
    } catch (thrown) {
      await cluster.stop();
      throw thrown;
    }
  }

  /** Milliseconds of one call as its caller sees them, and of its execution in the worker. */
  async timeCall(taskId: string, argv: readonly string[]): Promise<{ call: number; execution: number; data: unknown }> {
    const began = performance.now();
    const view = await this.client.call(
      { taskId, tool: 'process.run', args: { argv: [...argv] }, deadlineMs: 600_000 },
      { waitMs: 600_000 },
    );
    const call = performance.now() - began;
    if (view.state !== 'ok') throw new Error(`${argv.join(' ')}: ${view.state}: ${view.result?.summary ?? ''}`);
    return { call, execution: view.result?.usage?.durationMs ?? Number.NaN, data: view.result?.data };
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }
}
