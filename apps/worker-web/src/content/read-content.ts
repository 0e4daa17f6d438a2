import { type CharsetSource, decodeText } from './charset.ts';
import { cleanUntrusted } from './clean-untrusted.ts';
import { type ContentForm, formOf, parseMediaType } from './media-type.ts';
import type { Page } from './page.ts';
import type { PageReader } from './page-reader.ts';

/** `markdown`: the main content of a page; `text`: all of its text; `source`: as it was sent. */
export const CONTENT_FORMATS = ['markdown', 'text', 'source'] as const;
export type ContentFormat = (typeof CONTENT_FORMATS)[number];

/** A body that can be read. Every text of it was written by the outside, and nothing unseen is left in it. */
export interface Content {
  readonly form: ContentForm;
  readonly mediaType: string;
  /** Name as of the encoding standard; none for what is no text. */
  readonly charset: string | undefined;
  readonly charsetBy: CharsetSource | undefined;
  readonly title: string;
  readonly byline: string;
  readonly published: string;
  readonly language: string;
  /** Empty unless the page gives itself an address of its own host. */
  readonly canonical: string;
  /** All of it; empty for what is no text. */
  readonly text: string;
  /** The body as UTF-8 with nothing taken out; none for what is no text. */
  readonly decoded: string | undefined;
  readonly by: Page['by'] | 'source' | 'none';
  readonly hiddenElements: number;
  readonly hiddenCharacters: number;
}

export interface ContentSource {
  readonly body: Buffer;
  readonly contentType: string | undefined;
  /** http or https. */
  readonly address: string;
}

const BLANK = { title: '', byline: '', published: '', language: '', canonical: '', hiddenElements: 0 } as const;

type Reading = Omit<Page, 'by'> & { readonly by: Content['by'] };

const asSource = (text: string): Reading => ({ ...BLANK, text, by: 'source' });

const readAs = (
  reader: PageReader,
  form: ContentForm,
  format: ContentFormat,
  { body, address, decoded }: ContentSource & { readonly decoded: string | undefined },
  signal: AbortSignal,
): Promise<Reading> | Reading => {
  if (form === 'pdf') return reader.readPdf(body, signal);
  if (decoded === undefined) return { ...BLANK, text: '', by: 'none' };
  if (form !== 'html' || format === 'source') return asSource(decoded);
  return format === 'text' ? reader.readText(decoded, address, signal) : reader.read(decoded, address, signal);
};

const cleaned = (reading: Reading) => {
  let hiddenCharacters = 0;
  const clean = (source: string): string => {
    const { text, unseen } = cleanUntrusted(source);
    hiddenCharacters += unseen;
    return text;
  };
  const { text, title, byline, published, language, canonical, by, hiddenElements } = reading;
  const texts = {
    text: clean(text),
    title: clean(title),
    byline: clean(byline),
    published: clean(published),
    language: clean(language),
    canonical: clean(canonical),
  };
  return { ...texts, by, hiddenElements, hiddenCharacters };
};

/** Makes text out of a body. Rejects as the reader does: `content_refused`, `overloaded`, the reason of the signal. */
export const readContent = async (
  reader: PageReader,
  source: ContentSource,
  format: ContentFormat,
  signal: AbortSignal,
): Promise<Content> => {
  const type = parseMediaType(source.contentType);
  const form = formOf(type, source.body);
  const isText = form !== 'pdf' && form !== 'binary';
  const decoding = isText ? decodeText(source.body, type.charset, form === 'html') : undefined;
  const decoded = decoding?.text;
  const reading = await readAs(reader, form, format, { ...source, decoded }, signal);
  return {
    form,
    mediaType: type.essence,
    charset: decoding?.charset,
    charsetBy: decoding?.source,
    decoded,
    ...cleaned(reading),
  };
};
