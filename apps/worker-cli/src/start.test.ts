import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noFaults, PACES, silentLogger } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { COMMAND_DEFAULTS } from './command/compile-commands.ts';
import type { readConfig, WorkerCliConfig } from './config.ts';
import { start } from './start.ts';

describe('start of the cli worker', () => {
  it('CL-6: for several tenants, not without name spaces; it says what is missing', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'start-'));
    const config: WorkerCliConfig = {
      ...({} as ReturnType<typeof readConfig>),
      bus: { servers: ['nats://127.0.0.1:1'], nkeySeed: '', publicKeys: {} },
      kind: 'cli',
      publicKeys: [],
      pace: PACES.test,
      faults: noFaults,
      slots: 1,
      stateDir,
      workspaceRoots: [],
      protectedDirs: [],
      cloneSources: [],
      allowRootOwned: false,
      workspaceUsers: { first: 40_000, count: 10 },
      lockWaitMs: 100,
      commands: COMMAND_DEFAULTS,
      tenancy: 'shared',
      searchPath: ['/nonexistent'],
    };
    await expect(start(config, silentLogger)).rejects.toThrow(/kept apart here: bwrap is not on the PATH/);
    rmSync(stateDir, { recursive: true });
  });
});
