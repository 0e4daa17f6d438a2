import type { ApprovalView } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type ApprovalServiceClient, approvalFromWire } from '@toolfabric/proto';
import type { RequestOptions } from './client-types.ts';
import { present, type Requester } from './requester.ts';
import { BackOff, isWorthRetrying } from './retry-unavailable.ts';
import { serverStream } from './server-stream.ts';

/** A watch without a timeout gives up after so long without a gateway. */
const RECONNECT_MS = 60_000;
/** Approvals whose last news is remembered, so that none is told twice. */
const MOST_TOLD = 20_000;

/** What makes news of an approval. */
const newsOf = ({ state, grantedBy }: ApprovalView): string => `${state} ${grantedBy.length}`;

/** Whether there is something new about it; the oldest are forgotten. */
const tellOnce = () => {
  const told = new Map<string, string>();
  return (approval: ApprovalView): boolean => {
    const { approvalId } = approval;
    if (told.get(approvalId) === newsOf(approval)) return false;
    told.delete(approvalId);
    told.set(approvalId, newsOf(approval));
    const oldest = told.keys().next();
    if (told.size > MOST_TOLD && !oldest.done) told.delete(oldest.value);
    return true;
  };
};

/**
 * Approvals that wait for this person, then each change. After a broken connection it asks again: what was answered in
 * between is told only when it waits still.
 */
export async function* watchApprovals(
  client: ApprovalServiceClient,
  { clock, metadata }: Requester,
  { signal, timeoutMs }: RequestOptions,
): AsyncGenerator<ApprovalView, void, void> {
  const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + timeoutMs;
  const backOff = new BackOff(clock);
  const isNew = tellOnce();
  let downSince: number | undefined;
  for (;;) {
    let error = new FabricError('unavailable', 'the gateway ended the watch');
    const open = client.watchApprovals.bind(client);
    const messages = serverStream(open, {}, metadata, until - clock.monotonic(), signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await messages.next().catch((thrown: unknown) => {
          if (!(thrown instanceof FabricError)) throw thrown;
          error = thrown;
          return { done: true as const, value: undefined };
        });
        if (next.done) break;
        downSince = undefined;
        backOff.reset();
        const approval = approvalFromWire(present(next.value.approval));
        if (isNew(approval)) yield approval;
      }
    } finally {
      await messages.return(undefined);
    }
    signal?.throwIfAborted();
    downSince ??= clock.monotonic();
    if (!isWorthRetrying(error)) throw error;
    if (!(await backOff.pause(Math.min(until, downSince + RECONNECT_MS), signal, error.details.retryAfterMs)))
      throw error;
  }
}
