import { beforeAll, describe, expect, it } from 'vitest';
import { PageReader } from '../../apps/worker-web/src/content/page-reader.ts';
import { type Content, readContent } from '../../apps/worker-web/src/content/read-content.ts';
import { labelledPages, score, wordsOf, wordsOfMarkdown } from '../web-corpus/label.ts';

const pages = labelledPages();
const found = new Map<string, Content>();
beforeAll(async () => {
  const reader = new PageReader();
  for (const { name, bytes } of pages) {
    const source = { body: bytes, contentType: 'text/html', address: 'https://corpus.example/page' };
    found.set(name, await readContent(reader, source, 'markdown', AbortSignal.timeout(20_000)));
  }
  reader.close();
}, 60_000);

const scoreOf = ({ name, main }: (typeof pages)[number]) => {
  const { text = '', title = '' } = found.get(name) ?? {};
  return score(wordsOfMarkdown(text.includes(title) ? text : `${title}\n${text}`), main);
};
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('WB-2: the main text of labelled pages', () => {
  it('is labelled on each of them, in its own character set', () => {
    expect(pages.length).toBeGreaterThanOrEqual(12);
    for (const { main } of pages) expect(main.length).toBeGreaterThan(20);
    expect(found.get('japanese-shift-jis')).toMatchObject({ charset: 'shift_jis', charsetBy: 'meta' });
    expect(found.get('chinese-gbk')).toMatchObject({ charset: 'gbk', charsetBy: 'meta' });
  });

  it.each(pages.map((page) => [page.name, page] as const))('%s: hardly a word of it is lost', (_name, page) => {
    expect(scoreOf(page).recall).toBeGreaterThan(0.97);
  });

  it('over all pages little stands beside it', () => {
    expect(mean(pages.map((page) => scoreOf(page).precision))).toBeGreaterThan(0.92);
  });

  it('RS-6: nothing that nobody would have seen', () => {
    const { text = '', hiddenElements } = found.get('hidden-injection') ?? {};
    expect(text).not.toContain('HIDDENCANARY');
    expect(hiddenElements).toBe(5);
  });
});

describe('the measure itself', () => {
  it('counts words as often as they stand there, and characters of scripts without spaces', () => {
    expect(score(['a', 'b', 'b'], ['a', 'b', 'c', 'd'])).toEqual({ precision: 2 / 3, recall: 0.5 });
    expect(wordsOf('Two 語語 words')).toEqual(['two', '語', '語', 'words']);
    expect(wordsOfMarkdown('[a link](https://x.example/path) and `code_name`\n```js\nx\n```')).toEqual(
      wordsOf('a link and code_name x'),
    );
  });
});
