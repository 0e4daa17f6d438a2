import { describe, expect, it } from 'vitest';
import { probeEngine } from './probe-engine.ts';

describe('what this machine has', () => {
  it('TR-1: an engine that opens says its version', async () => {
    const probe = await probeEngine();
    expect(probe).toEqual({ works: true, version: expect.stringMatching(/^\d+\.\d+/) });
  });

  it('TR-1: without the package the reason names it', async () => {
    const probe = await probeEngine('no-such-engine-package');
    expect(probe.works).toBe(false);
    expect(probe.reason).toContain('chdb');
  });
});
