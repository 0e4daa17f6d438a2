import { describe, expect, it } from 'vitest';
import { median, percentile, spreadOf } from './statistics.ts';

const upTo = (n: number) => Array.from({ length: n }, (_, i) => n - i);

describe('statistics', () => {
  it('takes percentiles by nearest rank, whatever the order', () => {
    expect(spreadOf(upTo(100))).toEqual({ p50: 50, p95: 95, p99: 99 });
    expect(percentile(upTo(3), 0.99)).toBe(3);
    expect(percentile([7], 0.5)).toBe(7);
    expect(percentile(upTo(10), 0)).toBe(1);
  });

  it('sorts by value and not by text', () => {
    expect(percentile([10, 9, 100], 1)).toBe(100);
  });

  it('takes the middle, or the mean of the two middle ones', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });

  it('has no number for no samples', () => {
    expect(percentile([], 0.5)).toBeNaN();
    expect(median([])).toBeNaN();
  });
});
