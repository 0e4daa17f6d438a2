import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import type { Page } from './page.ts';

/** Pages of a document that are read. */
const MAX_PAGES = 300;
const MAX_FIELD = 500;

const field = (value: unknown): string =>
  typeof value === 'string' ? value.replace(/\s+/g, ' ').trim().slice(0, MAX_FIELD).toWellFormed() : '';

/** The text of a PDF, page by page, and what it says about itself. Fonts, scripts and forms are not looked at. */
export const extractPdf = async (bytes: Uint8Array): Promise<Page> => {
  const document = await getDocumentProxy(bytes, { disableFontFace: true, maxImageSize: 1 });
  try {
    const { text } = await extractText(document, { mergePages: false });
    const { info } = await getMeta(document);
    const kept = text.slice(0, MAX_PAGES).map((page) => page.trim());
    const rest = text.length > MAX_PAGES ? [`(${text.length - MAX_PAGES} more pages)`] : [];
    return {
      title: field(info?.['Title']),
      byline: field(info?.['Author']),
      canonical: '',
      language: '',
      published: '',
      text: [...kept, ...rest].join('\n\n'),
      by: 'pdf',
      hiddenElements: 0,
    };
  } finally {
    await document.loadingTask.destroy();
  }
};
