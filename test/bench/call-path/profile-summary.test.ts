import { describe, expect, it } from 'vitest';
import { type CpuProfile, summarizeProfile } from './profile-summary.ts';

const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber });

const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('settle', 'file:///home/x/apps/router/src/settle-call.ts', 9), children: [4, 5] },
    { id: 4, callFrame: frame('parse', 'file:///home/x/node_modules/zod/v4/core.js', 4) },
    { id: 5, callFrame: frame('settle', 'file:///home/x/apps/router/src/settle-call.ts', 9) },
  ],
  samples: [4, 2, 3, 4, 5],
  timeDeltas: [1000, 5000, 1000, 2000, 3000],
  startTime: 1_000_000,
};

describe('summarizeProfile', () => {
  it('counts the time of each function, without idling', () => {
    const { busyMs, self, areas } = summarizeProfile(profile, 0, 2_000);
    expect(busyMs).toBe(7);
    expect(self).toEqual([
      { name: 'settle apps/router/src/settle-call.ts:10', ms: 4 },
      { name: 'parse zod/v4/core.js:5', ms: 3 },
    ]);
    expect(areas).toEqual([
      { name: 'apps/router', ms: 4 },
      { name: 'zod', ms: 3 },
    ]);
  });

  it('counts what a function called as its own, once even when it calls itself', () => {
    expect(summarizeProfile(profile, 0, 2_000).inclusive).toEqual([
      { name: 'settle apps/router/src/settle-call.ts:10', ms: 7 },
    ]);
  });

  it('takes only samples between the two moments', () => {
    expect(summarizeProfile(profile, 1_006, 1_009).busyMs).toBe(3);
  });
});
