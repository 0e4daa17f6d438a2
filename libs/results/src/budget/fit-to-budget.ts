import type { ContentBlock, Outcome, Truncation } from '@toolfabric/contract';
import { estimateTokens, IMAGE_TOKENS } from './estimate-tokens.ts';
import { cutString, type Json, type Limits, shrinkJson } from './shrink-json.ts';

export interface Budget {
  /** Bytes of `data` and `content` together, as JSON. */
  readonly bytes: number;
  /** Estimated tokens of both. */
  readonly tokens?: number;
}

const MAX_TRUNCATIONS = 16;
const MAX_SUMMARY = 4096;

type Data = NonNullable<Outcome['data']>;
type Payload = Pick<Outcome, 'data' | 'content'>;

const jsonBytes = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const textOf = (block: ContentBlock): string =>
  block.type === 'image' || block.type === 'audio' ? '' : JSON.stringify(block);

/** What the budget counts. */
export const payloadSize = ({ data, content }: Payload): Required<Budget> => {
  const media = content?.filter(({ type }) => type === 'image' || type === 'audio').length ?? 0;
  const texts = [data === undefined ? '' : JSON.stringify(data), ...(content ?? []).map(textOf)];
  return {
    bytes: jsonBytes(data) + jsonBytes(content),
    tokens: texts.reduce((sum, text) => sum + estimateTokens(text), media * IMAGE_TOKENS),
  };
};

const fits = (payload: Payload, budget: Budget): boolean => {
  // Every token takes a byte at least: the cheap half first.
  if (jsonBytes(payload.data) + jsonBytes(payload.content) > budget.bytes) return false;
  return budget.tokens === undefined || payloadSize(payload).tokens <= budget.tokens;
};

interface Shrunk {
  readonly payload: Payload;
  readonly truncation: readonly Truncation[];
}

const shrinkBlock = (
  block: ContentBlock,
  stream: string,
  limits: Limits,
  note: (entry: Truncation) => void,
): ContentBlock => {
  if (block.type === 'image' || block.type === 'audio') {
    if (block.dataBase64.length <= limits.media) return block;
    const total = Buffer.byteLength(block.dataBase64, 'base64');
    note({ stream, kept: 0, total, unit: 'bytes' });
    return { type: 'text', text: `[${block.type} ${block.mediaType}, ${total} bytes, left out]` };
  }
  if (!('text' in block)) return block;
  const { text, kept, total } = cutString(block.text, limits.string);
  if (kept === total) return block;
  note({ stream, kept, total, unit: 'bytes' });
  return { ...block, text };
};

const shrink = ({ data, content }: Payload, limits: Limits): Shrunk => {
  const truncation: Truncation[] = [];
  const note = (entry: Truncation): void => {
    truncation.push(entry);
  };
  const blocks = content
    ?.slice(0, limits.items)
    .map((block, index) => shrinkBlock(block, `content/${index}`, limits, note));
  if (content !== undefined && blocks !== undefined && blocks.length < content.length)
    note({ stream: 'content', kept: blocks.length, total: content.length, unit: 'items' });
  return {
    payload: {
      ...(data === undefined ? {} : { data: shrinkJson(data as Json, 'data', limits, note) as Data }),
      ...(blocks === undefined ? {} : { content: blocks }),
    },
    truncation,
  };
};

const ALL: Limits = { string: Number.MAX_SAFE_INTEGER, items: Number.MAX_SAFE_INTEGER, media: Number.MAX_SAFE_INTEGER };
const SHORT_STRING = 200;

/** The largest limit between `least` and `most` with which it fits; undefined when `least` does not. */
const largest = (least: number, most: number, fitsWith: (limit: number) => boolean): number | undefined => {
  if (!fitsWith(least)) return undefined;
  let [low, high] = [least, most];
  while (high - low > Math.max(1, low / 64)) {
    const middle = Math.floor((low + high) / 2);
    if (fitsWith(middle)) low = middle;
    else high = middle;
  }
  return low;
};

/** Long strings first, then media, then items of lists, then short strings too. */
const findLimits = (payload: Payload, budget: Budget): Limits | undefined => {
  const fitsWith = (limits: Limits): boolean => fits(shrink(payload, limits).payload, budget);
  const most = budget.bytes + 1;
  const string = largest(SHORT_STRING, most, (limit) => fitsWith({ ...ALL, string: limit }));
  if (string !== undefined) return { ...ALL, string };
  const withoutMedia = { ...ALL, media: 0 };
  const beside = largest(SHORT_STRING, most, (limit) => fitsWith({ ...withoutMedia, string: limit }));
  if (beside !== undefined) return { ...withoutMedia, string: beside };
  const items = largest(1, 100_000, (limit) => fitsWith({ string: SHORT_STRING, items: limit, media: 0 }));
  if (items !== undefined) return { string: SHORT_STRING, items, media: 0 };
  const short = [100, 40, 16, 0].find((limit) => fitsWith({ string: limit, items: 1, media: 0 }));
  return short === undefined ? undefined : { string: short, items: 1, media: 0 };
};

const withoutPayload = ({ data, content = [] }: Payload): Shrunk => ({
  payload: {},
  truncation: [
    ...(data === undefined ? [] : [{ stream: 'data', kept: 0, total: jsonBytes(data), unit: 'bytes' as const }]),
    ...(content.length === 0 ? [] : [{ stream: 'content', kept: 0, total: content.length, unit: 'items' as const }]),
  ],
});

/** The ones that lost most, when there are more than a result may state; the others as one. */
const bounded = (all: readonly Truncation[]): Truncation[] => {
  if (all.length <= MAX_TRUNCATIONS) return [...all];
  const sorted = all.toSorted((a, b) => b.total - b.kept - (a.total - a.kept));
  const rest = sorted.slice(MAX_TRUNCATIONS - 1);
  const sum = (pick: (entry: Truncation) => number): number => rest.reduce((total, entry) => total + pick(entry), 0);
  const others: Truncation = {
    stream: `${rest.length} others`,
    kept: sum(({ kept }) => kept),
    total: sum(({ total }) => total),
    unit: 'bytes',
  };
  return [...sorted.slice(0, MAX_TRUNCATIONS - 1), others];
};

/**
 * An outcome whose `data` and `content` take no more than the budget. What is cut is stated in `truncation`; strings are
 * cut between characters, in the middle, and what is left is JSON still. The same outcome when it fits.
 */
export const fitToBudget = <O extends Outcome>(outcome: O, budget: Budget): O => {
  const summary =
    outcome.summary.length <= MAX_SUMMARY ? outcome.summary : outcome.summary.slice(0, MAX_SUMMARY - 1).toWellFormed();
  if (fits(outcome, budget)) return summary === outcome.summary ? outcome : { ...outcome, summary };
  const limits = findLimits(outcome, budget);
  const shrunk = limits === undefined ? withoutPayload(outcome) : shrink(outcome, limits);
  const { data: _data, content: _content, ...rest } = outcome;
  const truncation = bounded([...(outcome.truncation ?? []), ...shrunk.truncation]);
  // The parts of an outcome stay what they were; a caller's own fields are carried along.
  return { ...rest, summary, ...shrunk.payload, truncation } as O;
};
