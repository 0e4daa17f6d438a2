import { afterAll, describe, expect, it } from 'vitest';
import { hides } from './drop-hidden.ts';
import { extractPage } from './extract-page.ts';
import { PageReader, READER_OPTIONS } from './page-reader.ts';

const ADDRESS = 'https://news.example/2026/cats';
const never = new AbortController().signal;
const paragraph = (words: string) => `<p>${words}, ${'and some more words about it, '.repeat(8)}</p>`;
const article = (inside = '') =>
  `<html lang="en-GB"><head><title>Cats</title><link rel="canonical" href="/cats"></head><body><nav><a href="/">Home</a></nav>` +
  `<article><h1>Cats</h1>${paragraph('They sleep')}${inside}${paragraph('They eat')}</article><footer>Imprint</footer></body></html>`;

const reader = new PageReader();
afterAll(() => reader.close());

describe('WB-2: the main content of a page', () => {
  it('is found, without what stands around it', async () => {
    const page = await reader.read(article(), ADDRESS, never);
    expect(page).toMatchObject({
      title: 'Cats',
      language: 'en-GB',
      canonical: 'https://news.example/cats',
      by: 'readability',
    });
    expect(page.text).toContain('They sleep');
    expect(page.text).toContain('They eat');
    expect(page.text).not.toMatch(/Home|Imprint/);
  });

  it('RS-6: what nobody would have seen is left out and counted', async () => {
    const hidden = [
      '<p style="display: none">SECRET ORDER 1</p>',
      '<p hidden>SECRET ORDER 2</p>',
      '<div aria-hidden="true">SECRET ORDER 3</div>',
      '<span style="color:#FFF; background: #fff">SECRET ORDER 4</span>',
      '<p style="position:absolute;left:-9999px">SECRET ORDER 5</p>',
      '<p style="font-size:0">SECRET ORDER 6</p>',
      '<p style="visibility:hidden!important">SECRET ORDER 7</p>',
    ];
    const page = await reader.read(article(hidden.join('')), ADDRESS, never);
    expect(page.text).not.toContain('SECRET');
    expect(page.hiddenElements).toBe(hidden.length);
    expect(page.text).toContain('They eat');
  });

  it.each([
    ['a page of another host', '<link rel=canonical href="https://evil.example/">'],
    ['a script', '<link rel=canonical href="javascript:x">'],
    ['nothing', '<link rel=canonical>'],
  ])('a canonical address that names %s is none', async (_name, link) => {
    const page = await extractPage(`<head>${link}</head><p>text`, ADDRESS);
    expect(page.canonical).toBe('');
  });

  it.each([
    ['no elements at all', 'just text', 'just text'],
    ['nothing', '', ''],
    ['a short page', '<p>Closed today.</p>', 'Closed today.'],
    ['a list of links', `<ul>${'<li><a href=/x>one of many entries</a></li>'.repeat(30)}</ul>`, 'one of many entries'],
  ])('a page of %s is told as it is', async (_name, html, expected) => {
    expect((await reader.read(html, ADDRESS, never)).text).toContain(expected);
  });

  it.each([
    ['fifty thousand levels', `<p>begin</p>${'<div>'.repeat(50_000)}the end`],
    ['two hundred thousand elements', `<p>begin</p>${'<i>x</i>'.repeat(200_000)}the end`],
  ])('a page of %s is read in one pass', async (_name, html) => {
    const page = await reader.read(html, ADDRESS, never);
    expect(page.by).toBe('text');
    expect(page.text).toMatch(/^begin[\s\S]*the end$/);
  });

  it('a million attributes, and tags that never end, are survived', async () => {
    const attributes = Array.from({ length: 200_000 }, (_, i) => `a${i}=1`).join(' ');
    expect((await reader.read(`<p ${attributes}>the text</p>`, ADDRESS, never)).text).toContain('the text');
    expect((await reader.read(`<p>the text</p>${'<a '.repeat(100_000)}`, ADDRESS, never)).text).toContain('the text');
  });
});

/** The smallest PDF that says something, with its table of offsets. */
const pdf = (text: string): Buffer => {
  const stream = `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Title (A report) /Author (Ada) >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return String(at).padStart(10, '0');
  });
  const table = `xref\n0 7\n0000000000 65535 f \n${offsets.map((at) => `${at} 00000 n \n`).join('')}`;
  return Buffer.from(`${body}${table}trailer\n<< /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n${body.length}\n%%EOF`);
};

describe('WB-2: a PDF', () => {
  it('is told as its text, with title and author', async () => {
    const page = await reader.readPdf(pdf('Cats sleep a lot.'), never);
    expect(page).toMatchObject({ text: 'Cats sleep a lot.', title: 'A report', byline: 'Ada', by: 'pdf' });
  });

  it('that is cut, or none at all, is refused, and the next page is read', async () => {
    for (const bytes of [pdf('Cats').subarray(0, 60), Buffer.from('%PDF-1.7 nothing'), Buffer.alloc(100_000, '%PDF-')])
      await expect(reader.readPdf(bytes, never)).rejects.toMatchObject({ type: 'content_refused' });
    expect(await reader.read(article(), ADDRESS, never)).toMatchObject({ by: 'readability' });
  });
});

describe('WB-2: the threads that read', () => {
  /** Takes far longer than a millisecond. */
  const long = () => article().replace('</body>', `${'<p>more of the same</p>'.repeat(20_000)}</body>`);

  it('a page that holds its thread up is read the quick way, and the next one as ever', async () => {
    const hasty = new PageReader({ ...READER_OPTIONS, deadlineMs: 1 });
    try {
      expect(await hasty.read(long(), ADDRESS, never)).toMatchObject({ by: 'text', title: 'Cats' });
      expect(await reader.read(article(), ADDRESS, never)).toMatchObject({ by: 'readability' });
    } finally {
      hasty.close();
    }
  });

  it('what neither way can do is refused', async () => {
    const hasty = new PageReader({ ...READER_OPTIONS, deadlineMs: 1, quickMs: 1 });
    try {
      await expect(hasty.read(long(), ADDRESS, never)).rejects.toMatchObject({ type: 'content_refused' });
    } finally {
      hasty.close();
    }
  });

  it('a machine on which no thread comes up says so; it is not the page that is refused', async () => {
    const hasty = new PageReader({ ...READER_OPTIONS, startMs: 1 });
    try {
      await expect(hasty.read(article(), ADDRESS, never)).rejects.toMatchObject({ type: 'overloaded' });
      await expect(hasty.read(article(), ADDRESS, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    } finally {
      hasty.close();
    }
  });

  it('one more than may wait is refused; a waiting one that is aborted gives its place away', async () => {
    const narrow = new PageReader({ ...READER_OPTIONS, threads: 1, waiting: 1 });
    try {
      const stopping = new AbortController();
      const first = narrow.read(article(), ADDRESS, never);
      const second = narrow.read(article(), ADDRESS, stopping.signal);
      await expect(narrow.read(article(), ADDRESS, never)).rejects.toMatchObject({ type: 'overloaded' });
      stopping.abort(new Error('not wanted any more'));
      await expect(second).rejects.toThrow('not wanted any more');
      await expect(first).resolves.toMatchObject({ by: 'readability' });
      await expect(narrow.read(article(), ADDRESS, never)).resolves.toMatchObject({ by: 'readability' });
    } finally {
      narrow.close();
    }
  });
});

describe('RS-6: styles that hide', () => {
  it.each([
    'DISPLAY : NONE',
    'a:b; opacity: 0',
    'text-indent:-9999px',
    'color: white',
    'height:0;overflow:hidden',
    'clip: rect(0, 0, 0, 0)',
    'color:red;background-color:red',
  ])('%s', (style) => {
    expect(hides(style)).toBe(true);
  });
  it.each([
    'display:block',
    'opacity:0.5',
    'color:#333',
    'color:white;background:#000',
    'left:-2px',
    'font-size:0.9em',
    'height:0',
    '',
  ])('not %s', (style) => {
    expect(hides(style)).toBe(false);
  });
});
