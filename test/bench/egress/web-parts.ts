import { table } from '../call-path/markdown.ts';
import type { Must } from '../call-path/musts.ts';
import { type ExtractionRow, measureExtraction } from './extraction.ts';
import { measureFetch } from './fetch-page.ts';
import type { Part } from './part.ts';

const share = (value: number): string => value.toFixed(3);

const least = (name: string, value: number, limit: number): Must => ({ name, value, limit, atMost: false });

const extractionMusts = (rows: readonly ExtractionRow[]): Must[] => {
  const [own, ...others] = rows;
  if (own === undefined) return [];
  const best = Math.max(...others.map(({ f1 }) => f1));
  return [
    least('main text of the labelled pages: recall of url.fetch', own.recall, 0.97),
    least('main text of the labelled pages: precision of url.fetch', own.precision, 0.92),
    least('main text of the labelled pages: F1 of url.fetch over that of the better extractor alone', own.f1 / best, 1),
  ];
};

export const EXTRACTION: Part = {
  name: 'extraction',
  heading: 'The main text of a page',
  async measure(isQuick) {
    const rows = await measureExtraction(isQuick ? 1 : 10);
    const text = table(
      ['18 labelled pages', 'precision', 'recall', 'F1', 'worst page', 'p50 ms', 'p95 ms'],
      rows.map(({ name, precision, recall, f1, worst, p50, p95 }) => [
        name,
        ...[precision, recall, f1].map(share),
        `${worst.page} (${share(worst.f1)})`,
        p50,
        p95,
      ]),
    );
    return { text, musts: extractionMusts(rows) };
  },
};

export const FETCH: Part = {
  name: 'fetch',
  heading: 'One page of three kilobytes',
  async measure(isQuick) {
    const rows = await measureFetch(isQuick ? 20 : 200);
    const [direct] = rows;
    return {
      text: table(
        ['one at a time', 'p50 ms', 'p95 ms', 'p50 over a plain fetch'],
        rows.map(({ name, p50, p95 }) => [name, p50, p95, p50 / (direct?.p50 ?? Number.NaN)]),
      ),
      musts: [],
    };
  },
};
