import { describe, expect, it } from 'vitest';
import { checkSeeds } from './check-seeds.ts';

const FROM = 1;
const COUNT = 5_000;

describe('RE-3: the ledger protocol under simulated trouble', () => {
  it(`L1–L6 hold for ${COUNT} seeds from ${FROM}`, { timeout: 900_000 }, async () => {
    const { broken, states, kills } = await checkSeeds(FROM, COUNT);
    expect(broken).toEqual([]);
    // Trouble that troubles nobody would prove nothing.
    expect(kills).toBeGreaterThan(COUNT);
    for (const state of ['ok', 'error', 'unknown', 'denied', 'cancelled', 'expired'])
      expect(states[state]).toBeGreaterThan(50);
  });
});
