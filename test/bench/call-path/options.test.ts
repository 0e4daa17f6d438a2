import { describe, expect, it } from 'vitest';
import { PARTS, parseOptions } from './options.ts';

describe('parseOptions', () => {
  it('measures everything and asserts unless told otherwise', () => {
    expect(parseOptions([])).toMatchObject({ quick: false, assert: true, profile: false, parts: PARTS });
    expect(parseOptions(['--quick', '--no-assert'])).toMatchObject({ quick: true, assert: false });
  });

  it('measures only the parts that are named, and none when two checkouts are compared', () => {
    expect(parseOptions(['--part', 'scale']).parts).toEqual(['scale']);
    expect(parseOptions(['--against', '/other'])).toMatchObject({ parts: [], against: '/other' });
  });

  it.each([[['--part', 'everything']], [['--fast']], [['extra']]])('refuses %j', (args) => {
    expect(() => parseOptions(args)).toThrow();
  });
});
