import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { termsOf } from '../query/terms.ts';
import { type CitedResult, checkCitations } from './check-citations.ts';
import { pickSnippets } from './pick-snippets.ts';

const wanted = (words: string, ...phrases: string[]) => ({
  words: termsOf(words).map(({ term }) => term),
  phrases: phrases.map((phrase) => termsOf(phrase).map(({ term }) => term)),
});
const filler = (signs: string) => `${signs} `.repeat(120);

describe('WB-1: snippets', () => {
  it('are parts of the text as it is, also where case, accents and signs of two units differ from the query', () => {
    const text = `${filler('😀 語 text')}Das CAFÉ an der Straße 😀😀 öffnet um acht. ${filler('😀 more')}`;
    const [snippet, ...more] = pickSnippets(text, wanted('cafe strasse'), 1);
    expect(more).toEqual([]);
    expect(snippet?.text).toContain('CAFÉ an der Straße');
    expect(text.slice(snippet?.from, snippet?.to)).toBe(snippet?.text);
    expect(snippet?.text.isWellFormed()).toBe(true);
  });

  it('the place that holds the phrase wins over places that hold its words', () => {
    const text = `ahead log write. ${filler('nothing')} the write ahead log is here. ${filler('nothing')} log ahead`;
    expect(pickSnippets(text, wanted('', 'write ahead log'), 1)[0]?.text).toContain('the write ahead log is here');
  });

  it('do not overlap, come in the order of the text, and are short', () => {
    const text = Array.from({ length: 40 }, (_, n) => `paragraph ${n} about budget and other things`).join(' ');
    const picked = pickSnippets(text, wanted('budget'), 5);
    expect(picked).toHaveLength(5);
    for (const [at, { from, to }] of picked.entries()) {
      expect(to - from).toBeLessThanOrEqual(360);
      expect(from).toBeGreaterThanOrEqual(picked[at - 1]?.to ?? 0);
    }
  });

  it('a text without any of the words shows its beginning; an empty one shows nothing', () => {
    expect(pickSnippets('  It begins here.', wanted('absent'), 2)).toEqual([
      { from: 2, to: 17, text: 'It begins here.' },
    ]);
    expect(pickSnippets(' \n', wanted('absent'), 2)).toEqual([]);
  });

  it('a word that is longer than a snippet is cut between its signs', () => {
    const [snippet] = pickSnippets('😀'.repeat(2_000), wanted('x'), 1);
    expect(snippet?.text.isWellFormed()).toBe(true);
    expect(snippet?.text.length).toBeLessThanOrEqual(360);
  });
});

const TEXT = 'Ünder the 😀 bridge';
const bytes = Buffer.from(TEXT, 'utf8');
const stored = { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
const copies = new Map([['a-1', stored]]);
const address = 'https://docs.example/bridge';
const result = (snippet: object, more: object = {}): CitedResult =>
  ({
    address,
    copy: 'a-1',
    snippets: [{ address, from: 6, to: 12, text: 'the 😀', ...snippet }],
    ...more,
  }) as CitedResult;

describe('WB-3: every citation is looked up before the answer leaves', () => {
  it('what stands where it says is counted', () => {
    expect(TEXT.slice(6, 12)).toBe('the 😀');
    expect(checkCitations([result({})], copies)).toBe(1);
  });

  it.each([
    ['no address', { address: '' }],
    ['no address at all', { address: undefined }],
    ['a text that is no address', { address: 'docs.example' }],
    ['the address of another result', { address: 'https://other.example/' }],
    ['offsets that show something else', { from: 5 }],
    ['offsets that count bytes', { from: 7, to: 15 }],
    ['no offsets into a copy', { from: undefined }],
    ['another text', { text: 'the 🤖' }],
    ['no text', { text: '', from: 6, to: 6 }],
  ])('a snippet with %s is no citation', (_, broken) => {
    expect(() => checkCitations([result(broken)], copies)).toThrow(/citation cannot be checked/);
  });

  it('nor is one whose copy was not stored, or was stored as other bytes', () => {
    expect(() => checkCitations([result({}, { copy: 'a-2' })], copies)).toThrow(/not what was stored/);
    const other = new Map([['a-1', { ...stored, sha256: '0'.repeat(64) }]]);
    expect(() => checkCitations([result({})], other)).toThrow(/not what was stored/);
    expect(() => checkCitations([result({}, { copy: undefined })], copies)).toThrow(/offsets/);
  });

  it('without a copy there is a snippet and no claim of a place', () => {
    const bare = { address, snippets: [{ address, text: 'the' }] };
    expect(checkCitations([bare], new Map())).toBe(0);
  });
});
