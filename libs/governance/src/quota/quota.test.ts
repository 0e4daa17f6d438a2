import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitsOf, parseQuotas } from './quota-config.ts';
import { sliceOf } from './slice.ts';
import { TokenBucket } from './token-bucket.ts';

describe('a token bucket', () => {
  it('RT-6: gives its burst at once, then its rate, and says how long to wait', () => {
    const bucket = new TokenBucket();
    const rate = { perSecond: 10, burst: 3 };
    expect([0, 0, 0].map((now) => bucket.take(rate, now))).toEqual([0, 0, 0]);
    const wait = bucket.take(rate, 0);
    expect(wait).toBe(100);
    expect(bucket.take(rate, wait - 1)).toBeGreaterThan(0);
    expect(bucket.take(rate, wait)).toBe(0);
    expect(bucket.take(rate, 1e9)).toBe(0);
  });

  it('RT-6: never gives more than burst and rate together', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }), (pauses) => {
        const bucket = new TokenBucket();
        let [now, given] = [0, 0];
        for (const pause of pauses) {
          now += pause;
          if (bucket.take({ perSecond: 5, burst: 4 }, now) === 0) given += 1;
        }
        expect(given).toBeLessThanOrEqual(4 + (now / 1_000) * 5 + 1e-6);
      }),
    );
  });
});

describe('slices', () => {
  it('RT-6: of all living routers together are the remainder', () => {
    const parts = fc.tuple(
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 9 }),
    );
    fc.assert(
      fc.property(parts, ([most, used, routers]) => {
        const slices = Array.from({ length: routers }, (_, rank) => sliceOf(most, used, { routers, rank }));
        expect(slices.reduce((sum, slice) => sum + slice, 0)).toBe(Math.max(0, most - used));
      }),
    );
  });
});

describe('the quotas of a tenant', () => {
  it('are its own, else the default of the file, else generous', () => {
    const config = parseQuotas({
      default: { perSecond: 50, tools: { 'a.b': { perSecond: 2 } } },
      tenants: { acme: { inFlight: 7, tools: { 'a.b': { burst: 9 } } } },
    });
    const acme = limitsOf(config, 'acme');
    expect(acme).toMatchObject({ perSecond: 50, inFlight: 7, burst: 10_000 });
    expect(acme.tools.get('a.b')).toEqual({ perSecond: 2, burst: 9 });
    expect(limitsOf(config, 'other')).toMatchObject({ perSecond: 50, inFlight: 50_000 });
  });

  it.each([
    [{ default: { perSecond: 0 } }],
    [{ tenants: { 'A B': {} } }],
    [{ surprise: 1 }],
    [[]],
    [{ default: { inFlight: 0 } }],
  ])('refuse %j', (input) => expect(() => parseQuotas(input)).toThrow(/quotas are not valid/));
});
