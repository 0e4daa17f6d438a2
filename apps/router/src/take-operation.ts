import type { CallRecord, OperationRecord } from '@toolfabric/contract';
import {
  changeRecord,
  createRecord,
  judgeOperation,
  OPERATION_WINDOW_MS,
  type OperationVerdict,
  operationAfter,
} from '@toolfabric/ledger';
import type { RouterContext } from './router-context.ts';

const heldBy = (ctx: RouterContext, call: CallRecord): OperationRecord => ({
  callId: call.callId,
  tenant: call.actor.tenant,
  argsHash: call.argsHash,
  state: 'held',
  expiresAt: ctx.clock.now() + (call.operationMs ?? OPERATION_WINDOW_MS),
});

/** Protocol 3 (2): create-or-verify by call id. */
export const takeOperation = async (
  ctx: RouterContext,
  call: CallRecord,
  operation: string,
): Promise<{ verdict: Exclude<OperationVerdict, 'take_over'>; holder: OperationRecord }> => {
  const { operations } = ctx.ports;
  const mine = heldBy(ctx, call);
  const created = await createRecord(operations, operation, mine, { clock: ctx.clock });
  if (created.done) return { verdict: 'held', holder: mine };
  const taken = await changeRecord(
    operations,
    operation,
    (op) => (op === undefined || judgeOperation(op, call) === 'take_over' ? mine : undefined),
    { clock: ctx.clock },
  );
  if (taken.done) return { verdict: 'held', holder: mine };
  const holder = taken.current?.value ?? mine;
  const verdict = judgeOperation(holder, call);
  return { verdict: verdict === 'take_over' ? 'conflict' : verdict, holder };
};

/** Protocol 4: after the end of the call that holds it. Only the holder's own record is touched. */
export const releaseOperation = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  if (call.operation === undefined) return;
  const state = operationAfter(call);
  await changeRecord(
    ctx.ports.operations,
    call.operation,
    (op) => (op?.callId === call.callId && op.state === 'held' && op.state !== state ? { ...op, state } : undefined),
    { clock: ctx.clock },
  );
};
