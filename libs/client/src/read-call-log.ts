import { FabricError } from '@toolfabric/kernel';
import type { ArtifactServiceClient, ReadCallLogResponse } from '@toolfabric/proto';
import type { LogOptions, LogPiece } from './client-types.ts';
import type { Requester } from './requester.ts';
import { BackOff, isWorthRetrying } from './retry-unavailable.ts';
import { serverStream } from './server-stream.ts';

/** A reader without a timeout gives up after so long without a gateway; a log that is quiet for as long is no reason. */
const RECONNECT_MS = 60_000;

/**
 * Goes on at its cursor after a broken connection: nothing is told twice, nothing is passed over. The next attempt of a
 * call has a log of its own: then the cursor begins anew, also when that happened while there was no connection, and
 * `restarts` counts it.
 */
export async function* readCallLog(
  client: ArtifactServiceClient,
  requester: Requester,
  callId: string,
  { cursor: start = 0, attempt: startAttempt, follow = false, maxBytes, signal, timeoutMs }: LogOptions,
): AsyncGenerator<LogPiece, void, void> {
  const { clock, metadata } = requester;
  const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + timeoutMs;
  const backOff = new BackOff(clock);
  let cursor = start;
  let attempt = startAttempt;
  let restarts = 0;
  let left = maxBytes;
  let downSince: number | undefined;
  const heard = () => {
    downSince = undefined;
    backOff.reset();
  };
  for (;;) {
    const request = { callId, cursor, attempt, follow, maxBytes: left };
    const restartsBefore = restarts;
    const leftMs = until - clock.monotonic();
    const pieces = serverStream(client.readCallLog.bind(client), request, metadata, leftMs, signal, heard);
    let broken: FabricError;
    try {
      for (;;) {
        const next = await nextOrFailure(pieces);
        if (next instanceof FabricError) {
          broken = next;
          break;
        }
        if (next === undefined) return;
        heard();
        cursor = next.cursor;
        attempt = next.attempt ?? attempt;
        restarts = restartsBefore + next.restarts;
        if (left !== undefined) left -= next.data.length;
        yield toPiece(next, restarts);
      }
    } finally {
      await pieces.return();
    }
    if (!isWorthRetrying(broken)) throw broken;
    if (left !== undefined && left <= 0) return;
    downSince ??= clock.monotonic();
    const giveUpAt = Math.min(until, downSince + RECONNECT_MS);
    if (!(await backOff.pause(giveUpAt, signal, broken.details.retryAfterMs))) throw broken;
  }
}

const toPiece = ({ gapAt, attempt, ...piece }: ReadCallLogResponse, restarts: number): LogPiece => ({
  ...piece,
  restarts,
  ...(attempt === undefined ? {} : { attempt }),
  ...(gapAt === undefined ? {} : { gapAt }),
});

const nextOrFailure = async <T>(pieces: AsyncGenerator<T, void, void>): Promise<T | FabricError | undefined> => {
  try {
    const next = await pieces.next();
    return next.done ? undefined : next.value;
  } catch (thrown) {
    if (thrown instanceof FabricError) return thrown;
    throw thrown;
  }
};
