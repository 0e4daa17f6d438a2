import { Parser } from 'htmlparser2';

const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'head',
  'iframe',
  'object',
  'select',
  'button',
]);
const CHROME = new Set(['nav', 'footer', 'aside']);
const BREAKING = new Set(
  'p div section article main header li ul ol tr table h1 h2 h3 h4 h5 h6 br hr pre blockquote dt dd figure figcaption'.split(
    ' ',
  ),
);

export interface PlainText {
  readonly title: string;
  readonly text: string;
}

/** The text of a page in one pass without a document, so that no depth and no number of elements can hurt it. */
export const extractText = (html: string): PlainText => {
  const parts: string[] = [];
  let title = '';
  let isTitle = false;
  const left: string[] = [];
  const parser = new Parser(
    {
      onopentagname(name) {
        if (name === 'title' && title === '') isTitle = true;
        if (SKIPPED.has(name) || CHROME.has(name)) left.push(name);
        else if (BREAKING.has(name)) parts.push('\n');
      },
      ontext(text) {
        if (isTitle) title += text;
        else if (left.length === 0) parts.push(text);
      },
      onclosetag(name) {
        if (name === 'title') isTitle = false;
        if (left.at(-1) === name) left.pop();
        else if (BREAKING.has(name)) parts.push('\n');
      },
    },
    { decodeEntities: true },
  );
  parser.write(html);
  parser.end();
  const lines = parts
    .join('')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim());
  return {
    title: title.replace(/\s+/g, ' ').trim(),
    text: lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim(),
  };
};
