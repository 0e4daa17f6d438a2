import { describe, expect, it } from 'vitest';
import { isExcepted } from './decide.ts';

describe('PO-9: what a task forbids', () => {
  it.each([
    ['example.com', ['example.com'], ['a.example.com', 'example.com.test']],
    ['*.example.com', ['example.com', 'a.example.com', 'b.a.example.com'], ['badexample.com']],
    ['internal', ['internal', 'a.internal', 'b.a.internal'], ['ainternal', 'internal.test']],
    ['[2001:db8::1]', ['[2001:db8::1]'], ['[2001:db8::2]']],
  ])('%s', (pattern, forbidden, others) => {
    expect(forbidden.filter((host) => !isExcepted([pattern], { host }))).toEqual([]);
    expect(others.filter((host) => isExcepted([pattern], { host }))).toEqual([]);
  });
});
