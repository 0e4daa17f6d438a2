import { describe, expect, it } from 'vitest';
import { TOKEN_TEXTS } from './corpus/token-texts.ts';
import { estimateTokens } from './estimate-tokens.ts';

/** Counted with two public vocabularies: of 200,000 and of 100,000 entries. */
const COUNTED: Readonly<Record<string, readonly [o200k: number, cl100k: number]>> = {
  'english prose': [89, 89],
  'typescript source': [152, 152],
  'python source': [146, 144],
  'json data': [100, 97],
  'test output': [135, 132],
  'log lines': [134, 134],
  'git diff': [117, 117],
  chinese: [108, 147],
  japanese: [56, 78],
  korean: [42, 66],
  russian: [42, 76],
  german: [44, 55],
  'file list': [67, 65],
  'hexadecimal and base64': [164, 169],
};

const off = (estimate: number, counted: number): number => estimate / counted - 1;

describe('the estimate of tokens', () => {
  it('names every text of its corpus', () => expect(Object.keys(COUNTED)).toEqual(Object.keys(TOKEN_TEXTS)));

  it.each(Object.entries(TOKEN_TEXTS))('%s: is no more than a fifth too low', (name, text) => {
    const estimate = estimateTokens(text);
    const errors = (COUNTED[name] ?? []).map((counted) => off(estimate, counted));
    expect(Math.min(...errors)).toBeGreaterThan(-0.21);
  });

  it('code, data, logs and English: is off by 20 % at most, file lists by 40 %', () => {
    const names = [
      'english prose',
      'typescript source',
      'python source',
      'json data',
      'test output',
      'log lines',
      'git diff',
    ];
    for (const name of names)
      for (const counted of COUNTED[name] ?? [])
        expect(Math.abs(off(estimateTokens(TOKEN_TEXTS[name] ?? ''), counted))).toBeLessThan(0.201);
    expect(off(estimateTokens(TOKEN_TEXTS['file list'] ?? ''), 67)).toBeLessThan(0.41);
  });

  it('Chinese: between the two vocabularies', () => {
    const estimate = estimateTokens(TOKEN_TEXTS['chinese'] ?? '');
    expect(off(estimate, 108)).toBeLessThan(0.26);
    expect(off(estimate, 147)).toBeGreaterThan(-0.1);
  });

  it('all texts together: within 11 %', () => {
    const estimate = Object.values(TOKEN_TEXTS).reduce((sum, text) => sum + estimateTokens(text), 0);
    for (const column of [0, 1] as const) {
      const counted = Object.values(COUNTED).reduce((sum, counts) => sum + counts[column], 0);
      expect(Math.abs(off(estimate, counted))).toBeLessThan(0.11);
    }
  });

  it('nothing takes nothing, and halves of characters do no harm', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('\ud800 \udc00')).toBeGreaterThan(0);
  });
});
