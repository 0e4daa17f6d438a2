import type { WorkBody } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type Delivery, StoreUnavailable } from '@toolfabric/ports';
import type { ClaimCheck } from './held-claim.ts';
import type { WorkerContext } from './worker-context.ts';

export interface ExecutionWatch {
  /** Aborted with a `FabricError` that says why. */
  readonly signal: AbortSignal;
  stop(): void;
}

/** A reason that costs nothing: without one the platform makes an error with a stack for each execution. */
const OVER = 'over';

/**
 * Heartbeats of one execution: tells the server that the delivery is being worked on, and reads the claim again at
 * each beat and at each bell (protocol 10). Aborts at a cancel, at the loss of the claim, and at the deadline.
 */
export const watchExecution = (
  ctx: WorkerContext,
  delivery: Delivery,
  body: WorkBody,
  check: () => Promise<ClaimCheck>,
): ExecutionWatch => {
  const abort = new AbortController();
  const stopped = new AbortController();
  const stop = (why: FabricError) => {
    if (!stopped.signal.aborted) abort.abort(why);
  };
  const look = async () => {
    try {
      const found = await check();
      if (found === 'cancel_requested') stop(new FabricError('cancelled', 'the call was cancelled'));
      if (found === 'lost') stop(new FabricError('unavailable', 'the execution was taken from this worker'));
    } catch (thrown) {
      // Not to be able to look, or to read, is no reason to stop: the life sign decides that for the whole process.
      const cause = thrown instanceof Error ? thrown.name : 'thrown';
      if (!(thrown instanceof StoreUnavailable)) ctx.log.warn('claim.not_read', { callId: body.callId, cause });
    }
  };
  const beat = async () => {
    while (true) {
      await ctx.clock.sleep(ctx.pace.heartbeatMs, stopped.signal);
      if (stopped.signal.aborted) return;
      delivery.working();
      await look();
    }
  };
  const untilDeadline = Math.min(body.deadline - ctx.clock.now(), body.decision.limits.timeoutMs);
  const expire = () => {
    if (!stopped.signal.aborted) stop(new FabricError('expired', 'the deadline passed'));
  };
  // At once, not in a timer: a tool that is quick would begin its effect before the timer runs.
  if (untilDeadline <= 0) expire();
  else void ctx.clock.sleep(untilDeadline, stopped.signal).then(expire);
  const halt = () => stop(ctx.halt.signal.reason);
  ctx.halt.signal.addEventListener('abort', halt, { once: true });
  if (ctx.halt.signal.aborted) halt();
  void beat();
  ctx.bells.set(body.callId, () => void look());
  return {
    signal: abort.signal,
    stop() {
      stopped.abort(OVER);
      ctx.halt.signal.removeEventListener('abort', halt);
      ctx.bells.delete(body.callId);
    },
  };
};
