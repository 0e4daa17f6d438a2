import { describe, expect, it } from 'vitest';
import { isMet, MUSTS } from './musts.ts';

describe('musts', () => {
  it('hold at their limit and not beyond it', () => {
    expect([MUSTS.roundTrips(14), MUSTS.callsPerSecond(650), MUSTS.failed(0)].map(isMet)).toEqual([true, true, true]);
    expect([MUSTS.roundTrips(14.1), MUSTS.callsPerSecond(649), MUSTS.failed(1)].map(isMet)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('do not hold without a number', () => {
    expect([MUSTS.cpuMs(Number.NaN), MUSTS.callsPerSecond(Number.NaN)].map(isMet)).toEqual([false, false]);
  });
});
