import type { Outcome } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { estimateTokens, markUntrusted } from '@toolfabric/results';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type CitedResult, checkCitations } from './cite/check-citations.ts';
import type { Cited } from './cite/cite-results.ts';
import type { FilteredOut } from './merge/filter-results.ts';
import type { NamedAnswer } from './providers/ask-all.ts';
import { isAnswer } from './providers/provider-answer.ts';

export interface Searched {
  /** The query as it was rewritten. */
  readonly asked: string;
  readonly answers: readonly NamedAnswer[];
  /** Documents that were found before anything was filtered. */
  readonly found: number;
  readonly filteredOut: FilteredOut;
  readonly cited: Cited;
}

/** Bytes and tokens for the summary and what stands around the data. */
const SPARE_BYTES = 2_048;
const SPARE_TOKENS = 300;

const some = (name: string, counts: Readonly<Record<string, number>> | undefined): Record<string, Json> =>
  counts === undefined || Object.keys(counts).length === 0 ? {} : { [name]: { ...counts } };

const providerOf = ({
  name,
  state,
  found,
  why,
  retryAfterMs,
  unusable,
  failedEngines,
  leftOut,
}: NamedAnswer): Record<string, Json> => ({
  name,
  state,
  results: found.length,
  ...(why === undefined ? {} : { why }),
  ...(retryAfterMs === undefined ? {} : { retry_after_seconds: Math.ceil(retryAfterMs / 1_000) }),
  ...(unusable === undefined ? {} : { unusable_results: unusable }),
  ...some('failed_engines', failedEngines),
  ...some('left_out', leftOut),
});

/** Takes away what is worth least until the rest fits: further snippets from the last result on, then results. */
const fitted = (results: readonly CitedResult[], fits: (kept: readonly CitedResult[]) => boolean): CitedResult[] => {
  const kept = [...results];
  for (let at = kept.length - 1; at >= 0 && !fits(kept); at -= 1) {
    const result = kept[at];
    if (result !== undefined) kept[at] = { ...result, snippets: result.snippets.slice(0, 1) };
  }
  while (kept.length > 0 && !fits(kept)) kept.pop();
  return kept;
};

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const engines = ({ failedEngines = {} }: NamedAnswer): number =>
  Object.values(failedEngines).reduce((sum, count) => sum + count, 0);

/** In our own words alone: nothing that the outside wrote can stand in it. */
const summaryOf = (
  { answers, cited, filteredOut }: Searched,
  shown: readonly CitedResult[],
  checked: number,
): string => {
  const good = answers.filter(isAnswer).map(({ name }) => name);
  const bad = answers.filter((answer) => !isAnswer(answer));
  const read = shown.filter(({ snippets }) => snippets.length > 0).length;
  const left = Object.values(filteredOut).reduce((sum, count) => sum + count, 0);
  const nothing =
    cited.results.length > 0 ? 'None of the results fits into the answer.' : `Nothing was found by ${list(good)}.`;
  const what =
    shown.length === 0
      ? nothing
      : `${shown.length} ${shown.length === 1 ? 'result' : 'results'} of ${list(good)}; read: ${read}, snippets checked against stored copies: ${checked}.`;
  const failed = bad.map(({ name, state }) => `${name} (${state})`);
  const gaps = answers.filter((answer) => isAnswer(answer) && engines(answer) > 0).map(({ name }) => name);
  const cut = cited.results.length - shown.length;
  return [
    what,
    ...(bad.length === 0 ? [] : [`Not the whole answer: ${list(failed)} did not answer.`]),
    ...(gaps.length === 0 ? [] : [`Some engines behind ${list(gaps)} did not answer.`]),
    ...(left === 0 ? [] : [`${left} were left out by site or day.`]),
    ...(cut === 0 ? [] : [`${cut} more did not fit.`]),
  ].join(' ');
};

const originsOf = (results: readonly CitedResult[], tenant: string): string[] => {
  const origins = results.map(({ origin }) => String(origin).replace(/^(?=https?:)/, 'web:'));
  return [...new Set(origins.length === 0 ? [`folder:${tenant}`] : origins)];
};

/** Every title and description of the outside, and every snippet, stands in `untrusted` and nowhere else (RS-6). */
export const searchOutcome = (ctx: ToolContext, searched: Searched): Outcome => {
  const { asked, answers, found, filteredOut, cited } = searched;
  const isWhole = answers.every((answer) => isAnswer(answer) && engines(answer) === 0);
  const around: Record<string, Json> = {
    asked,
    providers: answers.map(providerOf),
    complete: isWhole,
    found,
    duplicates: cited.duplicates,
    ...some('filtered_out', filteredOut),
    offsets: 'utf-16',
  };
  type Data = NonNullable<Outcome['data']>;
  const dataOf = (results: readonly CitedResult[], checked: number): Data =>
    ({
      ...around,
      citations_checked: checked,
      untrusted: { results: [...results] },
    }) as Data;
  const fits = (results: readonly CitedResult[]): boolean => {
    const text = JSON.stringify(dataOf(results, 0));
    if (Buffer.byteLength(text) > ctx.limits.outputBytes - SPARE_BYTES) return false;
    return ctx.outputTokens === undefined || estimateTokens(text) <= ctx.outputTokens - SPARE_TOKENS;
  };
  const shown = fitted(cited.results, fits);
  const checked = checkCitations(shown, cited.copies);
  const stored = shown.flatMap(({ copy }) => copy ?? []);
  const evidence = shown.flatMap(({ address, sha256 }) =>
    sha256 === undefined ? [] : [{ kind: 'url', ref: address.slice(0, 1_000), detail: `sha256:${sha256}` }],
  );
  const isCut = shown.length < cited.results.length;
  const outcome: Outcome = {
    status: 'ok',
    summary: summaryOf(searched, shown, checked),
    data: dataOf(shown, checked),
    sideEffect: 'none',
    ...(stored.length === 0 ? {} : { artifacts: stored }),
    ...(evidence.length === 0 ? {} : { evidence }),
    ...(isCut
      ? { truncation: [{ stream: 'results', kept: shown.length, total: cited.results.length, unit: 'items' as const }] }
      : {}),
    trust: 'untrusted',
  };
  return originsOf(shown, ctx.actor.tenant).reduce(markUntrusted, outcome);
};
