import { describe, expect, it } from 'vitest';
import { isBelow, normalisePath } from './normalise-path.ts';

describe('a path that is compared', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/a/./b', '/a/b'],
    ['/a/../b', '/b'],
    ['/../../b', '/b'],
    ['/a/%2e%2E/b', '/b'],
    ['/a/b/..', '/a/'],
    ['/%61/%7Eb', '/a/~b'],
    ['/a/%C3%A4', '/a/%C3%A4'],
    ['/a?x=../../;%2f', '/a?x=../../;%2f'],
    ['/', '/'],
    ['/a/', '/a/'],
  ])('%s → %s', (text, path) => expect(normalisePath(text, true)).toBe(path));

  it.each([
    '/a//b',
    '//a',
    '/a;x=1/b',
    '/a/..;/b',
    '/a%2fb',
    '/a%5C..%5Cb',
    '/a\\b',
    '/a%252e%252e/b',
    '/a%00',
    '/a%0d%0ab',
    '/a%',
    '/a%zz',
    '/a%2',
    '/a#b',
    '/a%23',
    '/a%3fb',
    '/ä',
    '/a b',
    'a',
    '*',
    '',
  ])('%j has more than one reading', (text) => {
    expect(() => normalisePath(text, true)).toThrow(expect.objectContaining({ reason: 'path_malformed' }));
  });

  it('one that no rule compares goes as it came', () => {
    expect(normalisePath('/a//b;c%2f../?x', false)).toBe('/a//b;c%2f../?x');
    for (const text of ['*', 'a', '/a b', '/a\tb', '/a#b']) expect(() => normalisePath(text, false)).toThrow();
  });

  it('is below a prefix by whole segments', () => {
    const below = (path: string) => isBelow(path, '/api/v1');
    expect(['/api/v1', '/api/v1/', '/api/v1/x', '/api/v1?x'].map(below)).toEqual([true, true, true, true]);
    expect(['/api/v10', '/api', '/api/v1x/', '/x/api/v1', '/?/api/v1'].map(below)).toEqual(Array(5).fill(false));
    expect(isBelow('/anything', '/')).toBe(true);
  });
});
