import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalIndex } from '../../../apps/worker-web/src/search/local/local-index.ts';
import { parseQuery, wantedTerms } from '../../../apps/worker-web/src/search/query/parse-query.ts';
import { webSearchTool } from '../../../apps/worker-web/src/search/web-search.ts';
import { contextFor, keepCopies, openDriver } from '../../../apps/worker-web/src/testing/web-fixture.ts';
import { table } from '../call-path/markdown.ts';
import { type Spread, spreadOf } from '../call-path/statistics.ts';
import type { Part } from './part.ts';
import { plantDocuments, type Question, type QuestionKind } from './plant-documents.ts';

interface SearchNumbers {
  readonly documents: number;
  readonly megabytes: number;
  /** Milliseconds until the first answer, with nothing indexed. */
  readonly indexMs: number;
  /** MiB that the process grew by. */
  readonly memoryMb: number;
  /** Milliseconds of a look through a folder in which nothing, and in which 100 files, have changed. */
  readonly unchangedMs: number;
  readonly changedMs: number;
  /** Milliseconds of one question. */
  readonly index: Spread;
  readonly tool: Spread;
  /** Share of the questions whose answer is among the first five, and is the first one. */
  readonly recall: readonly {
    readonly kind: QuestionKind;
    readonly asked: number;
    readonly at5: number;
    readonly at1: number;
  }[];
}

const TENANT = 'acme';
const WAIT_MS = 120_000;
const never = new AbortController().signal;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const askWith =
  (index: LocalIndex) =>
  async (query: string, count = 20): Promise<readonly string[]> => {
    const terms = wantedTerms(parseQuery(query));
    const end = await index.ask(TENANT, { ...terms, without: [], count }, WAIT_MS, never);
    if (typeof end === 'string') throw new Error(`the folder was not searched: ${end}`);
    return end.hits.map(({ path }) => path);
  };

/** A folder that is looked through again before each question, so that its cost is seen by itself. */
const measureIndex = async (base: string, folder: string) => {
  const before = process.memoryUsage().rss;
  const index = new LocalIndex({ folder: base, limits: { freshMs: 0 } });
  const ask = askWith(index);
  try {
    const indexMs = await timed(() => ask('nothing'));
    const memoryMb = (process.memoryUsage().rss - before) / 1024 ** 2;
    const unchangedMs = await timed(() => ask('nothing'));
    for (let n = 0; n < 100; n += 1)
      appendFileSync(join(folder, String(n).padStart(2, '0'), `note-${n}.md`), '\nMore.\n');
    const changedMs = await timed(() => ask('nothing'));
    return { indexMs, memoryMb, unchangedMs, changedMs };
  } finally {
    index.close();
  }
};

const recallOf = (questions: readonly Question[], ranks: readonly number[]): SearchNumbers['recall'] =>
  [...new Set(questions.map(({ kind }) => kind))].map((kind) => {
    const own = ranks.filter((_, at) => questions[at]?.kind === kind);
    const share = (most: number) => own.filter((rank) => rank >= 0 && rank < most).length / own.length;
    return { kind, asked: own.length, at5: share(5), at1: share(1) };
  });

const measureQuestions = async (base: string, questions: readonly Question[], rounds: number) => {
  const driver = openDriver({ searchFolder: base });
  const { localIndex } = driver;
  if (localIndex === undefined) throw new Error('there is no folder');
  const [ask, tool] = [askWith(localIndex), webSearchTool(driver)];
  const [times, toolTimes, ranks]: [number[], number[], number[]] = [[], [], []];
  try {
    await ask('nothing');
    for (const { query, answer } of questions)
      times.push(await timed(async () => ranks.push((await ask(query)).indexOf(answer))));
    for (const { query } of questions.slice(0, rounds)) {
      const ctx = { ...contextFor({ artifacts: keepCopies().session }), egress: undefined };
      toolTimes.push(await timed(() => tool.handle(ctx, tool.args.parse({ query, results: 5 }))));
    }
  } finally {
    driver.close();
  }
  return { index: spreadOf(times), tool: spreadOf(toolTimes), recall: recallOf(questions, ranks) };
};

/** Documents with planted answers in a folder of this machine, searched as `web.search` does. */
const measureSearch = async (documents: number, rounds: number): Promise<SearchNumbers> => {
  const base = mkdtempSync(join(tmpdir(), 'bench-search-'));
  const folder = join(base, TENANT);
  try {
    const { questions, bytes } = plantDocuments(folder, documents);
    const built = await measureIndex(base, folder);
    return { documents, megabytes: bytes / 1024 ** 2, ...built, ...(await measureQuestions(base, questions, rounds)) };
  } finally {
    rmSync(base, { recursive: true });
  }
};

const render = (numbers: SearchNumbers): string => {
  const { documents, megabytes, indexMs, memoryMb, unchangedMs, changedMs, index, tool, recall } = numbers;
  const once = table(
    [`${documents} documents, ${megabytes.toFixed(1)} MiB`, 'ms'],
    [
      ['until the first answer, with nothing indexed', indexMs],
      ['a look through the folder, nothing has changed', unchangedMs],
      ['a look through the folder, 100 files have changed', changedMs],
    ],
  );
  const times = table(
    ['one question at a time', 'p50 ms', 'p95 ms', 'p99 ms'],
    [
      ['the index', index.p50, index.p95, index.p99],
      ['web.search: five results read, stored, cited and checked', tool.p50, tool.p95, tool.p99],
    ],
  );
  const found = table(
    ['planted answers', 'questions', 'among the first five', 'the first'],
    recall.map(({ kind, asked, at5, at1 }) => [kind, String(asked), at5.toFixed(3), at1.toFixed(3)]),
  );
  return [once, `The process grew by ${memoryMb.toFixed(0)} MiB.`, times, found].join('\n\n');
};

export const SEARCH: Part = {
  name: 'search',
  heading: 'Searching a folder',
  async measure(isQuick) {
    const numbers = await measureSearch(isQuick ? 1_000 : 10_000, isQuick ? 20 : 200);
    const least = Math.min(...numbers.recall.map(({ at5 }) => at5));
    const name = 'planted answers among the first five of a search, the kind of question that is worst';
    return { text: render(numbers), musts: [{ name, value: least, limit: 0.95, atMost: false }] };
  },
};
