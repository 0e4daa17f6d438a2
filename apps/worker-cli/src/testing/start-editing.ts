import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import type { WorkspaceSettings } from '../workspace/workspace-settings.ts';
import { waitUntil } from './wait-until.ts';

export interface EditingSpec {
  readonly settings: WorkspaceSettings;
  readonly workspace: Pick<WorkspaceRecord, 'id' | 'source'>;
  readonly steps: readonly Record<string, unknown>[];
  readonly forever?: boolean;
  readonly faults?: string;
  readonly stopAtBegin?: boolean;
}

export interface Editing {
  readonly child: ChildProcess;
  /** Lines that it has said so far. */
  readonly said: string[];
  /** Resolves when it has said `line` at least `times` times. */
  heard(line: string, times?: number): Promise<void>;
  ended(): Promise<void>;
  kill(): Promise<void>;
}

export const startEditing = (spec: EditingSpec): Editing => {
  const script = fileURLToPath(new URL('./edit-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => said.push(...chunk.toString().split('\n').filter(Boolean)));
  const over = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    child,
    said,
    heard: (line, times = 1) => waitUntil(() => said.filter((one) => one === line).length >= times, 15_000),
    ended: () => over,
    kill: async () => {
      child.kill('SIGKILL');
      await over;
    },
  };
};
