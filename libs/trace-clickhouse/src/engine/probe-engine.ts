import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineNotOpened, EngineProcess } from './engine-process.ts';

export interface EngineProbe {
  readonly works: boolean;
  readonly version?: string;
  /** Why it does not work, for a person. */
  readonly reason?: string;
}

const MEMORY_BYTES = 512 * 1024 * 1024;

const reasonOf = (error: unknown): string =>
  error instanceof EngineNotOpened && error.why === 'missing'
    ? 'the optional package chdb is not installed, or not for this system'
    : 'the engine does not open a directory';

/** Opens the embedded engine once, in a process and a directory of its own, and leaves nothing behind. */
export const probeEngine = async (module = 'chdb'): Promise<EngineProbe> => {
  const directory = await mkdtemp(join(tmpdir(), 'toolfabric-engine-'));
  try {
    const engine = await EngineProcess.open({ directory, memoryBytes: MEMORY_BYTES, module }, () => {});
    await engine.close();
    return { works: true, version: engine.version };
  } catch (error) {
    return { works: false, reason: reasonOf(error) };
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
};
