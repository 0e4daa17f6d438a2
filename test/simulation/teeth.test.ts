import { describe, expect, it } from 'vitest';
import { checkSeeds } from './check-seeds.ts';
import { simulate } from './simulate.ts';

describe('the simulation', () => {
  it('gives the same run for the same seed', async () => {
    expect(await simulate(7)).toEqual(await simulate(7));
  });

  it.each([
    ['a store that ignores the revision of a compare-and-set', 'blind_store', 100],
    ['a kernel lock that keeps nobody out', 'open_lock', 1_500],
    ['a peer that says it deduplicates, and does not', 'no_dedupe', 1_500],
    ['an acknowledgement that reaches the server before the result is stored', 'early_ack', 100],
    ['a background call that is acknowledged before its claim is stored', 'early_background_ack', 100],
    ['a router that does not know what a contract says about outcomes', 'lax_contract', 100],
    ['a tool that wrote and says that it did nothing, so that it is tried again', 'false_denial', 300],
    ['an egress that says it has closed what it has not', 'deaf_door', 2_500],
    ['an egress that opens a permit without a look at its floor', 'blind_door', 2_500],
    ['a router that takes the death of an egress for its silence', 'dead_fence', 2_500],
    ['a router that takes an acknowledged message for the death of its holder', 'hasty_death', 100],
  ] as const)('notices %s', { timeout: 300_000 }, async (_what, sabotage, seeds) => {
    const { broken } = await checkSeeds(1, seeds, sabotage);
    expect(broken.join('\n')).toMatch(/L[1-6]/);
  });
});
