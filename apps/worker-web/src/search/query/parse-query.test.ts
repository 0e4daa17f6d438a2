import { describe, expect, it } from 'vitest';
import { parseQuery, siteOf, writeQuery } from './parse-query.ts';
import { findPhrase, foldWord, termsOf } from './terms.ts';

describe('WB-1: a query is rewritten, and always in the same way', () => {
  it('takes words, phrases, unwanted words and sites apart', () => {
    expect(
      parseQuery('fast  "write ahead log" -mysql -"page cache" site:Docs.Example.org -site:*.blog.example'),
    ).toEqual({
      words: ['fast'],
      phrases: ['write ahead log'],
      without: ['mysql', 'page cache'],
      sites: ['docs.example.org'],
      notSites: ['blog.example'],
    });
  });

  it.each([
    ['“curly quotes” −minus', '"curly quotes" -minus'],
    ['a\u200bb \u202ec', 'ab c'],
    ['site:a.example site:b.example x', 'x (site:a.example OR site:b.example)'],
    ['x "an unclosed phrase', 'x "an unclosed phrase"'],
    ['x -- "" - … y', 'x y'],
    ['co-op e-mail', 'co-op e-mail'],
    ['x site:BÜCHER.example', 'x site:xn--bcher-kva.example'],
  ])('%s becomes %s', (query, written) => {
    expect(writeQuery(parseQuery(query))).toBe(written);
  });

  it.each(['', '   ', '""', '-', 'site:example.org', '-only', 'x site:', 'x site:a/b', 'x site:a@b', 'w '.repeat(65)])(
    'refuses %j, which asks for nothing or for no host',
    (query) => expect(() => parseQuery(query)).toThrow(/the query cannot be read/),
  );

  it.each(['a b', 'http://x.example', 'x.example/path', '', '.', 'ann@x.example', 'x.example:80'])(
    '%j is no site',
    (text) => expect(siteOf(text)).toBeUndefined(),
  );
});

describe('terms', () => {
  it.each([
    ['Straße', 'strasse'],
    ['ＣＡＦＥ́', 'cafe'],
    ['İstanbul', 'istanbul'],
    ['ﬁne', 'fine'],
    ['ΟΔΟΣ', 'οδοσ'],
  ])('%s is folded to %s', (word, folded) => expect(foldWord(word)).toBe(folded));

  it('knows where each stands in the text as it was written, also behind signs of two units', () => {
    const text = '𝔸 naïve 𝟙2 東京都';
    for (const { from, to } of termsOf(text)) expect(text.slice(from, to)).not.toBe('');
    expect(termsOf(text).map(({ term, from, to }) => [term, text.slice(from, to)])).toEqual([
      ['a', '𝔸'],
      ['naive', 'naïve'],
      ['12', '𝟙2'],
      ['東京', '東京'],
      ['京都', '京都'],
    ]);
  });

  it('takes a long text without a space apart', () => {
    const terms = termsOf('東京都'.repeat(120_000));
    expect(terms).toHaveLength(3 * 120_000 - 1);
    expect(terms.at(-1)).toEqual({ term: '京都', from: 359_998, to: 360_000 });
    expect(termsOf('東')).toEqual([{ term: '東', from: 0, to: 1 }]);
  });

  it('finds a phrase across what separates its words, and no row of words that only begins like it', () => {
    const terms = termsOf('write-ahead log, write ahead');
    expect(findPhrase(terms, ['write', 'ahead', 'log'])).toEqual([0]);
    expect(findPhrase(terms, ['write', 'ahead'])).toEqual([0, 3]);
    expect(findPhrase(terms, [])).toEqual([]);
  });
});
