import type { CallRecord, Envelope, ToolContract } from '@toolfabric/contract';
import { signPermit } from './permit-artifact.ts';
import type { RouterContext } from './router-context.ts';

/** Bytes that one call may store; the quota of its tenant is the store's own. */
const MAX_CALL_BYTES = 4 * 1024 ** 3;
/** Milliseconds after the deadline in which an execution that was stopped may still store what it has. */
const AFTER_DEADLINE_MS = 120_000;

/** One execution: a call in its epoch, or a probe of it. */
type Execution = Pick<CallRecord, 'callId' | 'epoch' | 'deadline'>;

/**
 * The leave to store artifacts that goes with a work message: for contracts that bring forth some, and wherever the
 * workspace lies on a worker of its own, whose snapshots are artifacts.
 */
export const callPermit = (
  ctx: RouterContext,
  call: CallRecord,
  { output, governance }: ToolContract,
  { callId, epoch, deadline }: Execution,
): { permit?: Envelope } => {
  const { actor, taskId, workspace } = call;
  const isApart = workspace !== undefined && ctx.storesApart(call.kind);
  if (output.artifacts !== true && !isApart) return {};
  const permit = signPermit(ctx, {
    action: 'call',
    actor,
    taskId,
    callId,
    epoch,
    ...(workspace === undefined ? {} : { workspace: workspace.id }),
    maxBytes: MAX_CALL_BYTES,
    retentionDays: governance.retention_days,
    expires: deadline + AFTER_DEADLINE_MS,
  });
  return { permit };
};
