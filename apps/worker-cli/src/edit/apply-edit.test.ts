import { describe, expect, it } from 'vitest';
import { applyEdit } from './apply-edit.ts';

const edit = (oldText: string, newText: string, replaceAll = false) => ({ oldText, newText, replaceAll });
const typeOf = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (thrown) {
    return (thrown as { type: string }).type;
  }
};

describe('exact replacement', () => {
  it('CL-2: replaces the one place, and takes dollar signs as they are', () => {
    expect(applyEdit('a b c', edit('b', '$& $1 $$'))).toEqual({
      text: 'a $& $1 $$ c',
      replacements: 1,
      carriedToCrlf: false,
    });
  });

  it('replaces all places when told to', () => {
    expect(applyEdit('x.x.x', edit('x', 'yy', true))).toMatchObject({ text: 'yy.yy.yy', replacements: 3 });
  });

  it('an ambiguous text names its lines; overlapping places are ambiguous too', () => {
    expect(() => applyEdit('a\nb\na\n', edit('a', 'c'))).toThrow(/line 1, 3/);
    expect(typeOf(() => applyEdit('aaa', edit('aa', 'b')))).toBe('text_ambiguous');
  });

  it('a text that differs in white space is not found, and the similar line is named', () => {
    expect(() => applyEdit('one\n\tif (x) {\n', edit('    if (x) {', ''))).toThrow(/like line 2/);
    expect(typeOf(() => applyEdit('one', edit('two', '')))).toBe('text_not_found');
  });

  it('an empty old text fits an empty file only', () => {
    expect(applyEdit('', edit('', 'first\n')).text).toBe('first\n');
    expect(typeOf(() => applyEdit('x', edit('', 'y')))).toBe('text_ambiguous');
  });

  it('keeps a file without a final newline as it is', () => {
    expect(applyEdit('a\nb', edit('b', 'c')).text).toBe('a\nc');
  });

  it('in a CRLF file, LF means CRLF, over lines and within one', () => {
    expect(applyEdit('a\r\nb\r\n', edit('a\nb\n', 'a\nx\nb\n'))).toEqual({
      text: 'a\r\nx\r\nb\r\n',
      replacements: 1,
      carriedToCrlf: true,
    });
    expect(applyEdit('a\r\nb\r\n', edit('b', 'x\ny')).text).toBe('a\r\nx\r\ny\r\n');
    expect(applyEdit('a\r\nb\r\n', edit('a\r\nb', 'z')).text).toBe('z\r\n');
  });

  it('in a file of mixed line ends nothing is carried over', () => {
    expect(typeOf(() => applyEdit('a\r\nb\nc\r\n', edit('a\nb', 'x')))).toBe('text_not_found');
  });
});
