import { providerName, type SearchOptions, type SearchProvider } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { askFolder } from '../local/ask-folder.ts';
import type { LocalIndex } from '../local/local-index.ts';
import { askProvider } from './ask-provider.ts';
import { isAnswer, type ProviderAnswer } from './provider-answer.ts';
import type { Asked } from './web-provider.ts';

export interface Searcher {
  readonly agent: string;
  /** None where this worker has no folder. */
  readonly localIndex: LocalIndex | undefined;
}

export type NamedAnswer = ProviderAnswer & { readonly name: string };

const askOne = (
  searcher: Searcher,
  ctx: ToolContext,
  provider: SearchProvider,
  asked: Asked,
): Promise<ProviderAnswer> => {
  const { egress, signal, clock, actor } = ctx;
  return provider.kind === 'local'
    ? askFolder(searcher.localIndex, { tenant: actor.tenant, signal }, asked, provider.timeout_ms)
    : askProvider({ egress, agent: searcher.agent, signal, now: () => clock.now() }, provider, asked);
};

/** What another attempt cannot change. */
const LASTING = new Set(['auth', 'unconfigured', 'refused', 'malformed']);

const told = ({ name, state, why }: NamedAnswer): string =>
  `${name} is ${state}${why === undefined ? '' : ` (${why})`}`;

/** There is no answer at all: that is a failure, and never "nothing was found". */
const failure = (answers: readonly NamedAnswer[]): FabricError => {
  const message = `no provider answered: ${answers.map(told).join('; ')}`;
  if (answers.every(({ state }) => LASTING.has(state))) return new FabricError('search_unconfigured', message);
  const waits = answers.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return new FabricError('search_failed', message, waits.length === 0 ? {} : { retryAfterMs: Math.min(...waits) });
};

/**
 * Asks every provider side by side; each has its own time, and none waits for another. Rejects with `search_failed` or
 * `search_unconfigured` when none of them answered.
 */
export const askAll = async (
  searcher: Searcher,
  ctx: ToolContext,
  { providers }: SearchOptions,
  asked: Asked,
): Promise<readonly NamedAnswer[]> => {
  const answers = await Promise.all(
    providers.map(async (provider) => ({
      ...(await askOne(searcher, ctx, provider, asked)),
      name: providerName(provider),
    })),
  );
  if (!answers.some(isAnswer)) throw failure(answers);
  return answers;
};
