import type { Outcome } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { markUntrusted } from './mark-untrusted.ts';

const outcome: Outcome = {
  status: 'ok',
  summary: 'read',
  sideEffect: 'none',
  trust: 'trusted',
  origin: 'workspace:t-1',
};

describe('marking as untrusted', () => {
  it('RS-6: says so, with the origin', () => {
    expect(markUntrusted(outcome, 'https://example.com/a')).toEqual({
      ...outcome,
      trust: 'untrusted',
      origin: 'https://example.com/a',
    });
  });

  it('RS-6: keeps earlier origins', () => {
    const twice = markUntrusted(markUntrusted(outcome, 'https://a'), 'mcp:b');
    expect(twice.origin).toBe('https://a, mcp:b');
    expect(markUntrusted(twice, 'mcp:b').origin).toBe('https://a, mcp:b');
  });

  it('hides nothing in an origin, and bounds it', () => {
    expect(markUntrusted(outcome, 'a\u202eb\nc\x07').origin).toBe('a\\u202eb c\\x07');
    expect(markUntrusted(outcome, 'x'.repeat(5000)).origin).toHaveLength(300);
  });
});
