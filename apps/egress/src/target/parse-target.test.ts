import { describe, expect, it } from 'vitest';
import { parseAbsolute, parseHost, parseTarget } from './parse-target.ts';

describe('a target', () => {
  it.each([
    ['example.com:443', 'example.com', 443],
    ['EXAMPLE.com:1', 'example.com', 1],
    ['example.com.:65535', 'example.com', 65_535],
    ['xn--mnchen-3ya.de:443', 'xn--mnchen-3ya.de', 443],
    ['_dmarc.example.com:80', '_dmarc.example.com', 80],
    ['192.0.2.7:443', '192.0.2.7', 443],
    ['[2001:DB8:0:0::1]:443', '[2001:db8::1]', 443],
    ['[::ffff:127.0.0.1]:443', '[::ffff:7f00:1]', 443],
  ])('SB-2: %s has one form', (text, host, port) => {
    expect(parseTarget(text)).toMatchObject({ host, port });
  });

  it.each(
    `example.com example.com: example.com:0 example.com:65536 example.com:0443 example.com:+443 example.com:443:443
     user@example.com:443 user:pw@example.com:443 example.com\\@evil.com:443 example.com/:443 example.com%2f:443
     %65xample.com:443 example.com%00.evil.com:443 example.com?:443 example.com#:443 .example.com:443
     example..com:443 example.com..:443 -a.example.com:443 ${'a'.repeat(64)}.com:443
     2130706433:443 0x7f000001:443 0x7f.1:443 017700000001:443 127.1:443 127.0.0.01:443 0177.0.0.1:443 127.0.0.1.1.1.:443
     1.2.3.256:443 [::1:443 ::1:443 [fe80::1%eth0]:443 [fe80::1%25eth0]:443 [::1]x:443 [1.2.3.4]:443 [::ffff:1.2.3]:443
     münchen.de:443 ｅxample.com:443 xn--a:443 xn--:443 ${`${'a.'.repeat(130)}com`}:443 :443 *:443 *.example.com:443`
      .split(/\s+/)
      .concat([
        'example.com :443',
        ' example.com:443',
        'example.com:443 ',
        'exam\tple.com:443',
        'example.com:443\n',
        '',
      ]),
  )('SB-2: %j is refused, not mended', (text) => {
    expect(() => parseTarget(text)).toThrow(expect.objectContaining({ reason: 'target_malformed' }));
  });

  it('every address in brackets or in four decimal parts is known as one', () => {
    expect(parseHost('10.0.0.1').address).toBe('10.0.0.1');
    expect(parseHost('[::1]').address).toBe('::1');
    expect(parseHost('example.com').address).toBeUndefined();
  });
});

describe('a request in absolute form', () => {
  it.each([
    ['http://example.com/a?b', 'example.com', 80, '/a?b'],
    ['http://example.com', 'example.com', 80, '/'],
    ['http://example.com:81?x', 'example.com', 81, '/?x'],
  ])('%s', (text, host, port, path) => {
    expect(parseAbsolute(text)).toMatchObject({ target: { host, port }, path });
  });

  it.each([
    'https://example.com/',
    'HTTP://example.com/',
    'ftp://example.com/',
    'http:example.com',
    'http:///a',
    'http://u@example.com/',
    'http://u:p@example.com:80/',
    'http://example.com\\@evil.com/',
    'http://example.com:80:80/',
    'http://example.com/#f',
    'example.com:80',
    '*',
    '//example.com/',
  ])('%s is refused', (text) => {
    expect(() => parseAbsolute(text)).toThrow(expect.objectContaining({ reason: 'target_malformed' }));
  });
});
