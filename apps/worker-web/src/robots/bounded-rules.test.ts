import { describe, expect, it } from 'vitest';
import { boundedRules } from './bounded-rules.ts';

const rulesOf = (text: string) => boundedRules(text, 'toolfabric').split('\n').slice(1);

describe('WB-2: the part of a robots.txt that concerns this agent', () => {
  it.each([
    ['its own group', 'User-agent: *\nDisallow: /\nUser-agent: Toolfabric/2\nAllow: /a', ['Allow: /a']],
    ['that of everybody', 'user-agent : other\nDisallow: /o\n\nUSER-AGENT: *\ndisallow:/d # why', ['Disallow: /d']],
    [
      'all groups of its name',
      'User-agent: toolfabric\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: toolfabric\nDisallow: /c',
      ['Disallow: /a', 'Disallow: /c'],
    ],
    [
      'a group of several names',
      'User-agent: x\nUser-agent: toolfabric\nUser-agent: toolfabric\nDisallow: /a',
      ['Disallow: /a'],
    ],
    [
      'a group without rules, which allows everything',
      'User-agent: *\nDisallow: /\nUser-agent: toolfabric\nDisallow:',
      [],
    ],
    ['nothing before a name', '\ufeffDisallow: /\r\nno field\rSitemap: https://x.example/\nUser-agent: *', []],
  ])('is %s', (_what, text, expected) => {
    expect(rulesOf(text)).toEqual(expected);
  });

  it('keeps wildcards, but for those that say nothing', () => {
    expect(rulesOf('User-agent: *\nDisallow: /a**b*\nDisallow: /*.pdf$\nAllow: *')).toEqual([
      'Disallow: /a*b',
      'Disallow: /*.pdf$',
      'Allow: /',
    ]);
  });

  it('with too many wildcards a rule forbids what begins like it, and allows nothing', () => {
    const many = '*x'.repeat(1_999);
    expect(rulesOf(`User-agent: *\nAllow: /${many}\nDisallow: /p*q*r\nAllow: /p*q*r\nDisallow: /*y\n`)).toEqual([
      `Allow: /${many}`,
      'Disallow: /p',
      '',
      'Disallow: /*y',
    ]);
  });

  it('holds no more than its rules, and no product of names and rules', () => {
    const names = Array.from({ length: 18_000 }, (_, i) => `User-agent: x${i}\n`).join('');
    expect(rulesOf(`${names}${'Disallow: /\n'.repeat(20_000)}`)).toEqual([]);
    expect(rulesOf(`${'User-agent: *\n'.repeat(9_000)}${'Disallow: /a\n'.repeat(20_000)}`)).toHaveLength(5_000);
  });
});
