import { decodeText } from '../../content/charset.ts';
import { extractText } from '../../content/extract-text.ts';

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/\.x?html?$/i, 'text/html'],
  [/\.(?:md|markdown|mdx)$/i, 'text/markdown'],
  [/\.json$/i, 'application/json'],
];

/** By the name of the file: nothing else says it. */
export const mediaTypeOf = (path: string): string => TYPES.find(([pattern]) => pattern.test(path))?.[1] ?? 'text/plain';

const HEADING = /^(?:#{1,3} +|title: *)(.{1,300})$/im;

export interface DocumentText {
  readonly title: string;
  readonly text: string;
}

/** A file as it is searched: quickly, and without what a reader of its page would not see as text. Undefined for bytes. */
export const documentText = (path: string, bytes: Buffer): DocumentText | undefined => {
  const isPage = mediaTypeOf(path) === 'text/html';
  const { text, charset } = decodeText(bytes, undefined, isPage);
  if (!charset.startsWith('utf-16') && bytes.subarray(0, 1_024).includes(0)) return undefined;
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (isPage) {
    const page = extractText(text);
    return { title: page.title || name, text: page.text };
  }
  const heading = HEADING.exec(text.slice(0, 2_000))?.[1]?.trim();
  return { title: heading === undefined || heading === '' ? name : heading, text };
};
