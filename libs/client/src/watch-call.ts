import type { Metadata } from '@grpc/grpc-js';
import { type CallView, isLastAnswer } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import { callViewFromWire, progressFromWire, type ToolServiceClient, type WatchCallResponse } from '@toolfabric/proto';
import type { CallNews, RequestOptions } from './client-types.ts';
import { fromServiceError } from './from-service-error.ts';
import { BackOff, isWorthRetrying } from './retry-unavailable.ts';

/** A watch without a timeout gives up after so long without a gateway; a call without news for as long is no reason. */
const RECONNECT_MS = 60_000;

/**
 * News of one call until it is answered. After a broken connection it asks again; lines of progress in between are
 * lost, changes of state are not, and none is told twice in a row.
 */
export async function* watchCall(
  client: ToolServiceClient,
  metadata: Metadata,
  callId: string,
  { signal, timeoutMs }: RequestOptions,
  clock: Clock,
): AsyncGenerator<CallNews, void, void> {
  const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + timeoutMs;
  const backOff = new BackOff(clock);
  let downSince: number | undefined;
  let told: CallView | undefined;
  for (;;) {
    const failure: { error?: FabricError } = {};
    for await (const news of oneConnection(client, metadata, callId, until - clock.monotonic(), signal, failure)) {
      downSince = undefined;
      backOff.reset();
      if (news.type === 'call' && told !== undefined && isSameNews(news.call, told)) continue;
      yield news;
      if (news.type !== 'call') continue;
      told = news.call;
      if (isLastAnswer(told)) return;
    }
    signal?.throwIfAborted();
    const error = failure.error ?? new FabricError('unavailable', 'the gateway ended the watch');
    downSince ??= clock.monotonic();
    const giveUpAt = Math.min(until, downSince + RECONNECT_MS);
    if (!isWorthRetrying(error)) throw error;
    if (!(await backOff.pause(giveUpAt, signal, error.details.retryAfterMs))) throw error;
  }
}

const isSameNews = (a: CallView, b: CallView): boolean => a.state === b.state && a.reconciling === b.reconciling;

/** Ends with the stream; what broke it is put into `failure`, so that a caller's own throw is never taken for it. */
async function* oneConnection(
  client: ToolServiceClient,
  metadata: Metadata,
  callId: string,
  leftMs: number,
  signal: AbortSignal | undefined,
  failure: { error?: FabricError },
): AsyncGenerator<CallNews, void, void> {
  signal?.throwIfAborted();
  const options = Number.isFinite(leftMs) ? { deadline: Date.now() + Math.max(1, leftMs) } : {};
  let stop = () => {};
  try {
    const stream = client.watchCall({ callId }, metadata, options);
    const cancel = () => stream.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    stop = () => {
      signal?.removeEventListener('abort', cancel);
      // Cancelling a stream that nobody reads any more emits an error.
      stream.on('error', () => {});
      cancel();
    };
    const messages = stream[Symbol.asyncIterator]() as AsyncIterator<WatchCallResponse>;
    for (;;) {
      const news = await nextNews(messages);
      if (news === undefined) return;
      if (news !== 'unknown') yield news;
    }
  } catch (thrown) {
    failure.error = fromServiceError(thrown);
  } finally {
    stop();
  }
}

/** `unknown` is news of a kind that a newer gateway tells. */
const nextNews = async (messages: AsyncIterator<WatchCallResponse>): Promise<CallNews | 'unknown' | undefined> => {
  const next = await messages.next();
  if (next.done) return undefined;
  const { news } = next.value;
  if (news?.$case === 'call') return { type: 'call', call: callViewFromWire(news.value) };
  if (news?.$case === 'progress') return { type: 'progress', progress: progressFromWire(news.value) };
  return 'unknown';
};
