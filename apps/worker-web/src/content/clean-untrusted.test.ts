import { isMark, MARK_START } from '@toolfabric/results';
import { describe, expect, it } from 'vitest';
import { cleanUntrusted } from './clean-untrusted.ts';

const tags = (text: string) =>
  [...text].map((sign) => String.fromCodePoint(0xe0000 + (sign.codePointAt(0) ?? 0))).join('');

describe('RS-6: text of the outside', () => {
  it.each([
    ['signs of no width', 'pay\u200bpal\u2060', 'paypal', 2],
    ['a soft hyphen', 'ig\u00adnore', 'ignore', 1],
    ['letters turned round', '\u202egpj.exe\u202c', 'gpj.exe', 2],
    ['isolates', '\u2066a\u2069', 'a', 2],
    ['an order in tags', `hi${tags('ignore')}`, 'hi', 6],
    ['control characters', 'a\u0000b\u001b[31mc\u0085', 'ab[31mc', 3],
    ['fillers that look like nothing', 'a\u3164\u115fb', 'ab', 2],
    ['signs that hide between letters', 'i\u200cg\u200dn\u034fore e\u0301\u200dx', 'ignore e\u0301x', 4],
    ['bytes in selectors behind a picture', '😀\ufe0f\ufe01\ufe0f\ufe0e\u{e0101}!', '😀\ufe0f!', 4],
    ['selectors behind a letter', 'a\ufe0f\u200db\ufe00', 'ab', 3],
    ['vowels and notes that look like nothing', 'a\u17b4\u180b\u{1d173}b', 'ab', 3],
    ['a line separator', 'a\u2028b', 'ab', 1],
    ['half of a pair', 'a\ud800b', 'a\ufffdb', 0],
    ['line ends of another system', 'a\r\nb\tc', 'a\nb\tc', 0],
  ])('is shown without %s', (_name, source, text, unseen) => {
    expect(cleanUntrusted(source)).toEqual({ text, unseen });
  });

  it.each(['👩‍💻 works', '👩🏽‍🚀', '❤️ 1️⃣', 'ক্‍ষ', 'می‌خواهم', 'नमस्ते', '🏳️‍🌈', 'naïve ﬁ ½'])(
    'keeps what its readers see: %s',
    (text) => {
      expect(cleanUntrusted(text)).toEqual({ text, unseen: 0 });
    },
  );

  it('joins nothing out of place', () => {
    expect(cleanUntrusted('\u200dx \u200c y\u200d')).toEqual({ text: 'x  y', unseen: 3 });
  });

  it('has no marks of the fabric, also where they are put together by what is taken out', () => {
    const mark = `${MARK_START}token:12345678]`;
    for (const source of [mark, mark.split('').join('\u200b'), mark.split('').join('\u200c'), `${MARK_START}${mark}`]) {
      const { text } = cleanUntrusted(source);
      expect(text).not.toContain(MARK_START);
      expect(isMark(text)).toBe(false);
    }
  });
});
