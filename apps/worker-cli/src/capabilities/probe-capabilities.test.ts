import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram } from '../process/find-program.ts';
import { TEST_PATH } from '../testing/driver-fixture.ts';
import { probeCapabilities } from './probe-capabilities.ts';

describe('what this machine can do', () => {
  it('is found out by doing it, with versions', async () => {
    const found = await probeCapabilities(TEST_PATH);
    for (const name of ['bwrap', 'rg', 'git', 'flock', 'prlimit'] as const) {
      expect(found[name]).toMatchObject({ works: true, version: expect.stringMatching(/^\d+\.\d+/) });
    }
    expect(found.namespaces).toEqual({ works: true });
    expect(found.isolation).toEqual(['process', 'namespace']);
  });

  it('says why, where nothing is there', async () => {
    const found = await probeCapabilities(['/nonexistent']);
    expect(found.rg).toEqual({ works: false, reason: 'rg is not on the PATH' });
    expect(found.namespaces).toMatchObject({ works: false, reason: expect.stringContaining('bwrap') });
    expect(found.flock.works).toBe(false);
    expect(found.isolation).toEqual(['process']);
  });

  it('does not believe a program that only has the name', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'programs-'));
    chmodSync(directory, 0o755);
    for (const name of ['bwrap', 'flock']) {
      writeFileSync(join(directory, name), '#!/bin/sh\necho 9.9.9\n', { mode: 0o755 });
    }
    writeFileSync(join(directory, 'rg'), 'no program', { mode: 0o755 });
    const found = await probeCapabilities([directory, ...TEST_PATH]);
    expect(found.flock).toMatchObject({ works: false, reason: 'it does not keep others out' });
    expect(found.namespaces.works).toBe(false);
    expect(found.rg.works).toBe(false);
    rmSync(directory, { recursive: true });
  });

  it('passes over relative directories, files that cannot run, and directories', () => {
    const directory = mkdtempSync(join(tmpdir(), 'programs-'));
    writeFileSync(join(directory, 'rg'), '', { mode: 0o644 });
    symlinkSync('/usr', join(directory, 'git'));
    expect(findProgram('rg', [directory])).toBeUndefined();
    expect(findProgram('git', [directory])).toBeUndefined();
    expect(findProgram('sh', ['.', 'bin', ''])).toBeUndefined();
    expect(findProgram('sh', ['.', '/bin'])).toMatch(/^\//);
    rmSync(directory, { recursive: true });
  });
});
