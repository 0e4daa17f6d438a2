import { describe, expect, it } from 'vitest';
import { canonicalAddress } from './canonical-address.ts';
import { filterResults } from './filter-results.ts';
import { type Merged, mergeResults } from './merge-results.ts';
import { distance, isNear, simHash } from './simhash.ts';

const found = (address: string, more: object = {}) => ({ address, title: address, description: '', ...more });

describe('WB-1: one document has one address to compare by', () => {
  it.each([
    ['http://www.example.com/a/?utm_source=x&b=2&a=1#part', 'https://example.com/a?a=1&b=2'],
    ['https://example.com/index.html', 'https://EXAMPLE.com'],
    ['https://example.com:443/x?gclid=1', 'http://example.com/x'],
    ['https://example.com./x', 'https://example.com/x'],
    ['https://www.example.co.uk/', 'https://example.co.uk/'],
  ])('%s is %s', (one, other) => expect(canonicalAddress(one)).toBe(canonicalAddress(other)));

  it.each([
    ['https://example.com/x?id=1', 'https://example.com/x?id=2'],
    ['https://a.example.com/', 'https://b.example.com/'],
    ['https://example.com/A', 'https://example.com/a'],
    ['https://example.com:8443/', 'https://example.com/'],
    ['https://www.com/', 'https://com/'],
    ['folder:///www.md', 'folder:///md'],
  ])('%s is not %s', (one, other) => expect(canonicalAddress(one)).not.toBe(canonicalAddress(other)));
});

describe('WB-1: what several providers find is merged by rank', () => {
  it('two second places are better than one first', () => {
    const merged = mergeResults([
      { name: 'x', found: [found('https://one.example/'), found('https://both.example/?utm_medium=m')] },
      { name: 'y', found: [found('https://two.example/'), found('http://www.both.example/', { description: 'said' })] },
    ]);
    expect(merged.map(({ address }) => new URL(address).hostname)).toEqual([
      'both.example',
      'one.example',
      'two.example',
    ]);
    expect(merged[0]).toMatchObject({ by: ['x', 'y'], description: 'said', alsoAt: ['http://www.both.example/'] });
    expect(merged[0]?.score).toBeCloseTo(2 / 62);
  });

  it('a provider that says one thing twice makes it no better', () => {
    const twice = [found('https://a.example/'), found('https://a.example/#b'), found('https://c.example/')];
    expect(mergeResults([{ name: 'x', found: twice }])[0]?.score).toBeCloseTo(1 / 61);
  });

  it('is the same for the same answers', () => {
    const rankings = ['p', 'q'].map((name) => ({
      name,
      found: ['b', 'a'].map((at) => found(`https://${name}${at}.example/`)),
    }));
    expect(mergeResults(rankings)).toEqual(mergeResults(rankings));
  });
});

const text = (seed: number, words = 200): string =>
  Array.from({ length: words }, (_, at) => `word${(at * 7_919 + seed * 104_729) % 5_003}`).join(' ');

describe('WB-1: near duplicates', () => {
  it('a text with one word changed is near, another one is not', () => {
    const other = text(1, 2_000).replace('word5', 'changed').concat(' Share this page');
    expect(isNear(simHash(text(1, 2_000)), simHash(other))).toBe(true);
    const far = Array.from({ length: 20 }, (_, seed) =>
      distance(simHash(text(1)) ?? [0, 0], simHash(text(seed + 2)) ?? [0, 0]),
    );
    expect(Math.min(...far)).toBeGreaterThan(10);
  });

  it('case and accents make no difference; of a short text nothing is said', () => {
    expect(simHash(text(3).toUpperCase())).toEqual(simHash(text(3)));
    expect(simHash('only a few words')).toBeUndefined();
    expect(isNear(undefined, undefined)).toBe(false);
  });
});

const merged = (address: string, published?: string): Merged => ({
  address,
  title: '',
  description: '',
  by: ['x'],
  score: 1,
  alsoAt: [],
  ...(published === undefined ? {} : { published: Date.parse(published) }),
});

describe('WB-1: sites and days hold whatever a provider made of them', () => {
  const results = [
    merged('https://docs.example.org/a', '2026-01-31T23:59:00Z'),
    merged('https://example.org.evil.example/', '2026-01-15'),
    merged('https://notexample.org/', '2026-01-15'),
    merged('https://example.org./b'),
    merged('folder:///c.md', '2025-12-31'),
  ];
  const addresses = (filter: object) =>
    filterResults(results, { sites: [], notSites: [], ...filter }).kept.map(({ address }) => address);

  it('a host is within a site by whole labels', () => {
    expect(addresses({ sites: ['example.org'] })).toEqual(['https://docs.example.org/a', 'https://example.org./b']);
    expect(addresses({ notSites: ['example.org', 'evil.example'] })).toEqual([
      'https://notexample.org/',
      'folder:///c.md',
    ]);
  });

  it('both days are included, and what has no date is left out and counted', () => {
    const { kept, filteredOut } = filterResults(results, {
      sites: [],
      notSites: ['evil.example'],
      after: '2026-01-01',
      before: '2026-01-31',
    });
    expect(kept.map(({ address }) => address)).toEqual(['https://docs.example.org/a', 'https://notexample.org/']);
    expect(filteredOut).toEqual({ site: 1, no_date: 1, date: 1 });
  });
});
