import { type CallRecord, type ErrorType, MAX_EPOCH, type Outcome } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';

/** Failures that pass by themselves: nobody who asked has to change anything (layer runtime, or the lock of a workspace). */
const PASSING: ReadonlySet<ErrorType> = new Set([
  'unavailable',
  'overloaded',
  'worker_drained',
  'workspace_busy',
  'workspace_moved',
]);

/** Of these the worker that had it is gone, or has the workspace no more. */
const ELSEWHERE: ReadonlySet<ErrorType> = new Set(['worker_drained', 'workspace_moved']);

/** Milliseconds: whoever asks for a longer pause is heard by the caller, who may have better to do. */
const LONGEST_PAUSE_MS = 10_000;

export interface Retry {
  readonly epoch: number;
  readonly error: ErrorType;
  /** Milliseconds to wait before the next epoch. */
  readonly pauseMs: number;
  /** The next epoch must not be bound to the worker of this one. */
  readonly elsewhere: boolean;
}

/** Between a half and one and a half, the same for one epoch of one call on every router. */
const jitterOf = ({ callId, epoch }: CallRecord): number =>
  0.5 + Number.parseInt(sha256Hex(`${callId}.${epoch}`).slice(0, 8), 16) / 0x1_0000_0000;

const pauseOf = (call: CallRecord, firstMs: number, askedMs = 0): number =>
  Math.ceil(askedMs + firstMs * 2 ** (call.epoch - 1) * jitterOf(call));

/**
 * Whether the fabric itself tries a call once more, whose execution of the present epoch ended with `outcome` (RT-8).
 * Only what passes by itself, did nothing, and may be run again by its contract; within the epochs that a call has, and
 * only when the next one begins before the deadline.
 *
 * @param firstMs milliseconds of the first pause; each further one is twice as long, all of them with jitter.
 */
export const planRetry = (
  call: CallRecord,
  outcome: Outcome,
  attempt: number,
  { now, firstMs }: { readonly now: number; readonly firstMs: number },
): Retry | undefined => {
  const { error, status, sideEffect } = outcome;
  if (call.state !== 'queued' || attempt !== call.epoch || call.epoch >= MAX_EPOCH) return undefined;
  if (status !== 'error' || sideEffect !== 'none' || error === undefined) return undefined;
  if (!error.retryable || !PASSING.has(error.type)) return undefined;
  if (call.effect !== 'none' && !call.rerunnable) return undefined;
  const pauseMs = pauseOf(call, firstMs, error.retryAfterMs);
  if (pauseMs > LONGEST_PAUSE_MS || now + pauseMs >= call.deadline) return undefined;
  return { epoch: call.epoch + 1, error: error.type, pauseMs, elsewhere: ELSEWHERE.has(error.type) };
};
