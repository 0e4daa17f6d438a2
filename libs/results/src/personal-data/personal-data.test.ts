import { describe, expect, it } from 'vitest';
import { createRedactor } from '../redact/create-redactor.ts';
import { isRedactionRule, PERSONAL_DATA_RULE } from '../redact/rules.ts';
import { findPersonalData, personalFields } from './find-personal-data.ts';

const redactor = createRedactor({ secret: Buffer.alloc(32, 1), tenant: 'acme', rules: [PERSONAL_DATA_RULE] });

describe('personal data in arguments', () => {
  it('PO-8: is told by pointer and type, and never by its text', () => {
    const fields = personalFields({
      to: ['x', 'anna@posta-magyar.hu'],
      'a/b~c': { note: 'card 4532015112830366, tel. 030 / 4567890' },
      'anna@posta-magyar.hu': { n: 'mail li@youxiang.cn' },
      n: 4_532_015_112_830_366,
      plain: [1_795_780_800_000, true, null, 'nothing'],
    });
    expect(fields).toEqual([
      { pointer: '/to/1', types: ['email'] },
      { pointer: '/a~1b~0c/note', types: ['card', 'phone'] },
      { pointer: '', types: ['email'] },
      { pointer: '/*/n', types: ['email'] },
      { pointer: '/n', types: ['card'] },
    ]);
    expect(JSON.stringify(fields)).not.toContain('@');
  });

  it('is bounded, however much there is', () => {
    expect(personalFields(Array.from({ length: 500 }, (_, n) => `a${n}@posta.hu`))).toHaveLength(50);
  });
});

describe('personal data in results', () => {
  it('PO-8: becomes marks, in texts, names of fields and numbers of cards', () => {
    const value = { 'anna@posta.hu': ['call +49 151 23456789'], n: 4_532_015_112_830_366, count: 1_795_780_800_000 };
    expect(JSON.stringify(redactor.json(value))).toMatch(
      /^\{"\[redacted:pii:\w{8}\]":\["call \[redacted:pii:\w{8}\]"\],"n":"\[redacted:pii:\w{8}\]","count":1795780800000\}$/,
    );
  });

  it('is looked for only where a contract asks for it', () => {
    const plain = createRedactor({ secret: Buffer.alloc(32, 1), tenant: 'acme' });
    expect(plain.text('anna@posta.hu')).toBe('anna@posta.hu');
    expect(isRedactionRule(PERSONAL_DATA_RULE)).toBe(true);
  });

  it('redacting twice changes nothing', () => {
    const once = redactor.text('anna@posta.hu and +49 151 23456789');
    expect(redactor.text(once)).toBe(once);
  });
});

describe('time', () => {
  it.each([
    ['digits', '1'.repeat(60_000)],
    ['digits and gaps', '12 '.repeat(20_000)],
    ['letters', 'Aa '.repeat(20_000)],
    ['an address that never ends', `1 ${'Mill '.repeat(12_000)}`],
    ['dots', 'a.'.repeat(30_000)],
    ['at signs', 'a@'.repeat(30_000)],
    ['capitals', 'AB12 '.repeat(12_000)],
    ['plus signs', '+1 '.repeat(20_000)],
    ['ideographs', '北京市'.repeat(10_000)],
    ['streets', 'Lindenstraße 7, '.repeat(4_000)],
  ])('grows with the length of %s, and no faster', (_what, text) => {
    const time = (of: string): number => {
      const began = process.cpuUsage();
      findPersonalData(of);
      return process.cpuUsage(began).user / 1000;
    };
    time(text.slice(0, 2_000));
    expect(time(text)).toBeLessThan(2_000);
  });
});
