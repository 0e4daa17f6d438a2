import { describe, expect, it } from 'vitest';
import { compileGlob } from './glob.ts';

const FITS: readonly [string, string][] = [
  ['*.ts', 'a.ts'],
  ['*.ts', 'deep/down/a.ts'],
  ['src/**/*.ts', 'src/a.ts'],
  ['src/**/*.ts', 'src/x/y/a.ts'],
  ['src/**', 'src/x/y/a.ts'],
  ['**/test/*.py', 'test/a.py'],
  ['**/test/*.py', 'x/y/test/a.py'],
  ['/package.json', 'package.json'],
  ['./src/a.ts', 'src/a.ts'],
  ['*.{ts,tsx}', 'a.tsx'],
  ['{src,lib}/**/*.{js,ts}', 'lib/x/a.js'],
  ['a{b{c,d},e}f', 'abdf'],
  ['a{b{c,d},e}f', 'aef'],
  ['[a-c]?[!x].md', 'b2y.md'],
  ['[]].md', '].md'],
  ['a*b*c', 'aXXbYYc'],
  ['?.ts', '😀.ts'],
  ['*', '.hidden'],
  ['***.ts', 'a.ts'],
];
const MISSES: readonly [string, string][] = [
  ['*.ts', 'a.tsx'],
  ['src/*.ts', 'src/x/a.ts'],
  ['src/**', 'src'],
  ['/a.ts', 'x/a.ts'],
  ['[a-c].md', 'd.md'],
  ['[!a].md', 'a.md'],
  ['?.ts', 'ab.ts'],
  ['a+(b)', 'abb'],
  ['a.ts', 'axts'],
];

describe('file patterns', () => {
  it.each(FITS)('%s fits %s', (pattern, path) => expect(compileGlob(pattern).matches(path)).toBe(true));
  it.each(MISSES)('%s does not fit %s', (pattern, path) => expect(compileGlob(pattern).matches(path)).toBe(false));

  it.each(['a{b', '[abc', '../x', '/', '.', 'x'.repeat(600), `${'{a,b}'.repeat(10)}`, 'a\0b'])(
    'RT-4: %s is refused with the field',
    (pattern) => {
      expect(() => compileGlob(pattern)).toThrowError(
        expect.objectContaining({
          type: 'invalid_arguments',
          details: expect.objectContaining({ fields: [expect.objectContaining({ field: '/glob' })] }),
        }),
      );
    },
  );

  it('does not backtrack: a pattern of many stars ends on a long name', () => {
    const glob = compileGlob(`${'*a'.repeat(200)}b`);
    expect(glob.matches('a'.repeat(4000))).toBe(false);
    expect(compileGlob(`${'**/*a/'.repeat(80)}b`).matches('aa/'.repeat(1300))).toBe(false);
  });

  it('names are given to ripgrep only where they mean the same to it', () => {
    expect(compileGlob('src/**/*.{ts,tsx}').names).toEqual(['*.ts', '*.tsx']);
    expect(compileGlob('src/**').names).toEqual(['*']);
    expect(compileGlob('[ab].ts').names).toBeUndefined();
    expect(compileGlob('a:b').names).toBeUndefined();
  });
});
