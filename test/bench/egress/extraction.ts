import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { decodeText } from '../../../apps/worker-web/src/content/charset.ts';
import { extractPage } from '../../../apps/worker-web/src/content/extract-page.ts';
import {
  type LabelledPage,
  labelledPages,
  type Score,
  score,
  wordsOf,
  wordsOfMarkdown,
} from '../../web-corpus/label.ts';
import { spreadOf } from '../call-path/statistics.ts';

export interface ExtractionRow {
  readonly name: string;
  /** Means over the pages. */
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Of the page that was worst. */
  readonly worst: { readonly page: string; readonly f1: number };
  /** Milliseconds a page, in one process that is warm. */
  readonly p50: number;
  readonly p95: number;
}

type Extract = (page: LabelledPage) => Promise<readonly string[]>;

const ADDRESS = 'https://corpus.example/page';

/** Each gets the bytes and does the whole way by itself, as a user of it would. */
const EXTRACTORS: readonly (readonly [string, Extract])[] = [
  [
    'url.fetch',
    async ({ bytes }) => {
      const { title, text } = await extractPage(decodeText(bytes, undefined, true).text, ADDRESS);
      return wordsOfMarkdown(text.includes(title) ? text : `${title}\n${text}`);
    },
  ],
  [
    'Readability alone',
    async ({ html }) => {
      const article = new Readability(parseHTML(html).document as never).parse();
      return wordsOf(`${article?.title ?? ''} ${article?.textContent ?? ''}`);
    },
  ],
  [
    'defuddle alone',
    async ({ html }) => {
      const { content, title } = await Defuddle(parseHTML(html).document as never, ADDRESS, { useAsync: false });
      return wordsOf(`${title} ${content.replace(/<[^>]*>/g, ' ').replace(/&[a-z]+;/g, ' ')}`);
    },
  ],
];

const f1 = ({ precision, recall }: Score): number =>
  precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const measure = async (
  name: string,
  extract: Extract,
  pages: readonly LabelledPage[],
  rounds: number,
): Promise<ExtractionRow> => {
  const scores: (Score & { page: string })[] = [];
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    for (const page of pages) {
      const began = performance.now();
      const words = await extract(page).catch(() => []);
      // The first round warms the engine.
      if (round > 0) times.push(performance.now() - began);
      else scores.push({ page: page.name, ...score(words, page.main) });
    }
  }
  const worst = scores.reduce((least, each) => (f1(each) < f1(least) ? each : least));
  const { p50, p95 } = spreadOf(times);
  return {
    name,
    precision: mean(scores.map(({ precision }) => precision)),
    recall: mean(scores.map(({ recall }) => recall)),
    f1: mean(scores.map(f1)),
    worst: { page: worst.page, f1: f1(worst) },
    p50,
    p95,
  };
};

/** Main text of the labelled corpus, found by this worker and by the two extractors alone. */
export const measureExtraction = async (rounds: number): Promise<ExtractionRow[]> => {
  const pages = labelledPages();
  const rows: ExtractionRow[] = [];
  for (const [name, extract] of EXTRACTORS) rows.push(await measure(name, extract, pages, rounds));
  return rows;
};
