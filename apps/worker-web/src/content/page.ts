/** What the reader of a page gets. Every text of it was written by the outside. */
export interface Page {
  readonly title: string;
  readonly byline: string;
  /** The address that the page gives itself, where it is on the same host; else empty. */
  readonly canonical: string;
  /** BCP 47, as the page says; else empty. */
  readonly language: string;
  /** As the page says; else empty. */
  readonly published: string;
  /** The main content as Markdown, or the text alone where no main content could be told apart. */
  readonly text: string;
  /** Which extractor found the text. */
  readonly by: 'readability' | 'defuddle' | 'body' | 'text' | 'pdf';
  /** Elements that nobody would have seen, and whose text was left out. */
  readonly hiddenElements: number;
}

/** What an extraction thread is asked. `text`: the quick way without a document, for what the other way cannot do. */
export type Source =
  | { readonly mode: 'document' | 'text'; readonly html: string; readonly address: string }
  | { readonly mode: 'pdf'; readonly bytes: Uint8Array };

export type ExtractionRequest = Source & { readonly id: number };

/** The first message of a thread says that it is up. */
export type ExtractionReply =
  | { readonly isUp: true }
  | { readonly id: number; readonly page: Page }
  | { readonly id: number; readonly failed: string };
