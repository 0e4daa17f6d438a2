import { describe, expect, it } from 'vitest';
import { decodeText } from './charset.ts';
import { formOf, parseMediaType } from './media-type.ts';

const meta = (label: string, rest: Buffer) => Buffer.concat([Buffer.from(`<html><meta charset="${label}">`), rest]);
const SJIS = Buffer.from([0x93, 0xfa, 0x96, 0x7b]); // 日本
const GBK = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]); // 中文

describe('WB-2: the character set of a body', () => {
  it.each<[string, Buffer, string | undefined, string, string, string]>([
    ['a mark before the header', Buffer.from([0xef, 0xbb, 0xbf, 0xc3, 0xa4]), 'windows-1251', 'utf-8', 'bom', 'ä'],
    ['UTF-16 by its mark', Buffer.from([0xff, 0xfe, 0xe4, 0x00]), undefined, 'utf-16le', 'bom', 'ä'],
    ['the header before the page', meta('utf-8', SJIS), 'Shift_JIS', 'shift_jis', 'header', '日本'],
    ['a header that names nothing known', meta('gb2312', GBK), 'none-such', 'gbk', 'meta', '中文'],
    ['the page', meta('Shift_JIS', SJIS), undefined, 'shift_jis', 'meta', '日本'],
    [
      'the page in the older form',
      Buffer.concat([Buffer.from('<meta http-equiv=content-type content="text/html; charset=gbk">'), GBK]),
      undefined,
      'gbk',
      'meta',
      '中文',
    ],
    ['a page that says UTF-16 and is not', meta('utf-16', Buffer.from('ä')), undefined, 'utf-8', 'meta', 'ä'],
    ['a meta in a comment', Buffer.from('<!-- <meta charset=gbk> -->ä'), undefined, 'utf-8', 'guess', 'ä'],
    ['a meta too far behind', Buffer.from(`${' '.repeat(1_100)}<meta charset=gbk>ä`), undefined, 'utf-8', 'guess', 'ä'],
    ['nothing, UTF-8', Buffer.from('ä'), undefined, 'utf-8', 'guess', 'ä'],
    ['nothing, not UTF-8', Buffer.from([0xe4, 0x20]), undefined, 'windows-1252', 'guess', 'ä '],
    ['latin1 means windows-1252', Buffer.from([0x80]), 'iso-8859-1', 'windows-1252', 'header', '€'],
  ])('%s', (_name, bytes, label, charset, source, text) => {
    const decoded = decodeText(bytes, label, true);
    expect(decoded).toMatchObject({ charset, source });
    expect(decoded.text.endsWith(text)).toBe(true);
  });

  it('what is no page has no meta', () => {
    expect(decodeText(meta('gbk', Buffer.from('ä')), undefined, false)).toMatchObject({ charset: 'utf-8' });
  });

  it('what cannot be decoded stands as a sign of it', () => {
    expect(decodeText(Buffer.from([0x61, 0xff, 0x62]), 'utf-8', false).text).toBe('a\ufffdb');
  });
});

describe('WB-2: what a body is', () => {
  const form = (type: string | undefined, bytes: Buffer | string) => formOf(parseMediaType(type), Buffer.from(bytes));

  it.each([
    ['text/html; charset=utf-8', '<p>a', 'html'],
    ['application/xhtml+xml', '<p>a', 'html'],
    ['TEXT/HTML', '<p>a', 'html'],
    ['application/json', '{}', 'json'],
    ['application/problem+json', '{}', 'json'],
    ['text/plain', 'a', 'text'],
    ['application/rss+xml', '<rss/>', 'text'],
    ['application/pdf', '%PDF-1.7', 'pdf'],
    ['text/html', '%PDF-1.7', 'pdf'],
    ['application/pdf', '<html>', 'binary'],
    ['text/html', 'PK\u0003\u0004\u0000\u0000', 'binary'],
    ['image/png', '\u0089PNG', 'binary'],
    ['', '<!DOCTYPE html><p>a', 'html'],
    ['nonsense', 'a', 'binary'],
    [undefined, '  <html>', 'html'],
  ])('%s, %j: %s', (type, bytes, expected) => {
    expect(form(type, bytes)).toBe(expected);
  });

  it('UTF-16 is no binary', () => {
    expect(form('text/plain', Buffer.from([0xff, 0xfe, 0x61, 0x00]))).toBe('text');
    expect(form('text/plain; charset=utf-16le', Buffer.from([0x61, 0x00]))).toBe('text');
    expect(form('text/plain', Buffer.from([0x61, 0x00]))).toBe('binary');
  });

  it.each([
    ['text/html; charset="utf-8"', 'utf-8'],
    ['text/html;charset=GBK ; q=1', 'GBK'],
    ['text/html; boundary=x', undefined],
    ['text/html; charset=', undefined],
  ])('%s: %s', (header, charset) => {
    expect(parseMediaType(header)).toEqual({ essence: 'text/html', charset });
  });
});
