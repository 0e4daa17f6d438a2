import type { ServerWritableStream } from '@grpc/grpc-js';
import { type CallView, isLastAnswer } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { GatewayPorts } from '@toolfabric/ports';
import type { WatchCallResponse } from '@toolfabric/proto';
import { unauthenticated } from './authenticate.ts';
import type { PendingCalls } from './pending-calls.ts';
import type { RequestContext } from './request-context.ts';
import { WatchFeed } from './watch-feed.ts';

export interface WatchDeps {
  readonly ports: Pick<GatewayPorts, 'watchProgress'>;
  readonly pending: PendingCalls;
  /** Throws `not_found` for a call of somebody else (RS-4). */
  getCall(callId: string, context: RequestContext): Promise<CallView>;
}

/** Sends the call as it is, then its changes and lines of progress, until it is answered or the watcher goes away. */
export const watchCall = async (
  { ports, pending, getCall }: WatchDeps,
  callId: string,
  context: RequestContext,
  out: ServerWritableStream<unknown, WatchCallResponse>,
): Promise<void> => {
  const { identity } = context;
  const feed = new WatchFeed();
  const gone = new AbortController();
  const tell = tellChanges(feed, () => identity.isCurrent());
  const stopListening = pending.listen(identity.actor, callId, {
    onView: tell,
    onFailure: (error) => feed.end(error),
    onDrain: () => feed.end(new FabricError('unavailable', 'this gateway is stopping')),
  });
  if (stopListening === undefined) throw new FabricError('overloaded', 'too many calls are watched here');
  const stopOnGone = context.onGone(() => gone.abort());
  let stopProgress = () => {};
  try {
    tell(await getCall(callId, context));
    stopProgress = ports.watchProgress(identity.actor.tenant, callId, ({ seq, message, fraction }) =>
      feed.progress({ seq, message, ...(fraction === undefined ? {} : { fraction }) }),
    );
    if (context.isGone()) gone.abort();
    await feed.sendTo(out, gone.signal);
  } finally {
    stopProgress();
    stopListening();
    stopOnGone();
  }
};

const isSameNews = (a: CallView, b: CallView): boolean => a.state === b.state && a.reconciling === b.reconciling;

/** Views come from notices and from polling: one is told only when the state is new. A token that was taken back ends the watch. */
const tellChanges = (feed: WatchFeed, isCurrent: () => boolean): ((view: CallView) => void) => {
  let told: CallView | undefined;
  return (view) => {
    if (!isCurrent()) return feed.end(unauthenticated());
    if (told !== undefined && (isLastAnswer(told) || isSameNews(view, told))) return;
    told = view;
    feed.view(view);
    if (isLastAnswer(view)) feed.end();
  };
};
