import { parentPort } from 'node:worker_threads';
import { extractPage, extractPlain } from './extract-page.ts';
import { extractPdf } from './extract-pdf.ts';
import type { ExtractionReply, ExtractionRequest, Page, Source } from './page.ts';

const read = (source: Source): Page | Promise<Page> => {
  switch (source.mode) {
    case 'pdf':
      return extractPdf(source.bytes);
    case 'text':
      return extractPlain(source.html);
    case 'document':
      return extractPage(source.html, source.address);
  }
};

/** The thread that pages are read in: one request after another. */
const answer = async ({ id, ...source }: ExtractionRequest): Promise<ExtractionReply> => {
  try {
    return { id, page: await read(source) };
  } catch (thrown) {
    return { id, failed: thrown instanceof Error ? thrown.name : 'thrown' };
  }
};

parentPort?.on('message', (request: ExtractionRequest) => {
  void answer(request).then((reply) => parentPort?.postMessage(reply));
});
parentPort?.postMessage({ isUp: true } satisfies ExtractionReply);
