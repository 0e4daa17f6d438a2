import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Parser } from 'htmlparser2';

const FOLDER = fileURLToPath(new URL('pages/', import.meta.url));

/** A page of the corpus. Its author marked the main text with `main` and `/main` in comments. */
export interface LabelledPage {
  readonly name: string;
  readonly bytes: Buffer;
  readonly html: string;
  /** The main text as words. */
  readonly main: readonly string[];
}

const CHARSETS: Readonly<Record<string, string>> = { 'japanese-shift-jis': 'shift_jis', 'chinese-gbk': 'gbk' };

/** Words in lower case; of scripts that put no spaces, each character. */
export const wordsOf = (text: string): string[] =>
  text.toLowerCase().match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+/gu) ?? [];

const markedText = (html: string): string => {
  const parts: string[] = [];
  let isMain = false;
  const parser = new Parser({
    oncomment: (comment) => {
      isMain = comment === 'main' || (comment !== '/main' && isMain);
    },
    ontext: (text) => isMain && parts.push(text),
    onopentagname: () => isMain && parts.push(' '),
    onclosetag: () => isMain && parts.push(' '),
  });
  parser.end(html);
  return parts.join('');
};

export const labelledPages = (): LabelledPage[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.html'))
    .sort()
    .map((file) => {
      const name = file.replace(/\.html$/, '');
      const bytes = readFileSync(`${FOLDER}${file}`);
      const html = new TextDecoder(CHARSETS[name] ?? 'utf-8').decode(bytes);
      return { name, bytes, html, main: wordsOf(markedText(html)) };
    });

/** The words of Markdown without what is there for its form: addresses, languages of code. */
export const wordsOfMarkdown = (markdown: string): string[] =>
  wordsOf(
    markdown
      .replace(/\]\([^)\s]*\)/g, '] ')
      .replace(/^`{3,}[\w+#-]*$/gm, ' ')
      .replace(/\[image: ([^\]]*)\]/g, ' ')
      .replace(/\\([\\`*_[\]<>|])/g, '$1'),
  );

export interface Score {
  /** Share of the words found that belong to the main text. */
  readonly precision: number;
  /** Share of the main text that was found. */
  readonly recall: number;
}

const counted = (words: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
};

/** Words count as often as they stand there. */
export const score = (found: readonly string[], main: readonly string[]): Score => {
  const wanted = counted(main);
  let common = 0;
  for (const [word, times] of counted(found)) common += Math.min(times, wanted.get(word) ?? 0);
  return {
    precision: found.length === 0 ? 0 : common / found.length,
    recall: main.length === 0 ? 1 : common / main.length,
  };
};
