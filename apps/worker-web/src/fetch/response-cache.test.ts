import { describe, expect, it } from 'vitest';
import { conditionsOf, ResponseCache } from './response-cache.ts';

const LIMITS = { tenantBytes: 100, tenantEntries: 3, tenants: 2, entryBytes: 60 };
const answer = (bytes: number, headers: Record<string, string> = { etag: '"a"' }) => ({
  headers,
  body: Buffer.alloc(bytes),
});

describe('WB-2: copies are bounded', () => {
  it('by bytes of a tenant: what was used last stays', () => {
    const cache = new ResponseCache(LIMITS);
    cache.put('acme', 'a', answer(40));
    cache.put('acme', 'b', answer(40));
    cache.get('acme', 'a');
    cache.put('acme', 'c', answer(40));
    expect(['a', 'b', 'c'].map((name) => cache.get('acme', name) !== undefined)).toEqual([true, false, true]);
    expect(cache.bytes).toBe(80);
  });

  it('by entries of a tenant', () => {
    const cache = new ResponseCache(LIMITS);
    for (const name of 'abcd') cache.put('acme', name, answer(1));
    expect(cache.get('acme', 'a')).toBeUndefined();
    expect(cache.bytes).toBe(3);
  });

  it('by tenants, and what one puts there does not push out what is another’s', () => {
    const cache = new ResponseCache(LIMITS);
    cache.put('rival', 'x', answer(10));
    for (const name of 'abcdefgh') cache.put('acme', name, answer(50));
    expect(cache.get('rival', 'x')).toBeDefined();
    cache.put('third', 'x', answer(10));
    expect(cache.get('acme', 'h')).toBeUndefined();
    expect(cache.get('rival', 'x')).toBeDefined();
  });

  it('by bytes of one; and a later one that may not be kept takes the earlier one away', () => {
    const cache = new ResponseCache(LIMITS);
    cache.put('acme', 'a', answer(60));
    cache.put('acme', 'a', answer(61));
    expect(cache.get('acme', 'a')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  it('what cannot be asked about is not kept', () => {
    const cache = new ResponseCache(LIMITS);
    cache.put('acme', 'a', answer(1, {}));
    expect(cache.get('acme', 'a')).toBeUndefined();
  });

  it('the tag is asked about before the time', () => {
    expect(conditionsOf(answer(1, { etag: 'W/"x"', 'last-modified': 'then' }))).toEqual({ 'if-none-match': 'W/"x"' });
    expect(conditionsOf(answer(1, { 'last-modified': 'then' }))).toEqual({ 'if-modified-since': 'then' });
  });
});
