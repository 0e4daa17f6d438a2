import { describe, expect, it } from 'vitest';
import { nextAddress } from './next-address.ts';

const from = (address: string, location: string | undefined, status = 301) =>
  nextAddress({ status, headers: location === undefined ? {} : { location } }, new URL(address));

describe('WB-2: where an answer leads', () => {
  it.each([
    ['/b', 'https://a.example/b'],
    ['b?x=1#y', 'https://a.example/dir/b?x=1'],
    ['//c.example/', 'https://c.example/'],
    ['\\\\d.example\\x', 'https://d.example/x'],
  ])('%s is made whole', (location, whole) => {
    expect(String(from('https://a.example/dir/a', location))).toBe(whole);
  });

  it('from https to http is told and not followed; from http to https is followed', () => {
    expect(from('https://a.example/', 'http://a.example/x')).toEqual({ to: 'http://a.example/x', why: 'less_secure' });
    expect(String(from('http://a.example/', 'https://a.example/x'))).toBe('https://a.example/x');
  });

  it.each([
    [200, '/x'],
    [300, '/x'],
    [304, '/x'],
    [301, undefined],
  ])('status %i with %s leads nowhere', (status, location) => {
    expect(from('https://a.example/', location, status)).toBeUndefined();
  });

  it('an address that is too long is cut and not followed', () => {
    const next = from('https://a.example/', `/${'x'.repeat(5_000)}`);
    expect(next).toMatchObject({ why: 'not_http' });
    expect((next as { to: string }).to).toHaveLength(2_000);
  });
});
