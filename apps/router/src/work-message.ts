import { type CallRecord, CLOCK_LEEWAY_MS, type ToolContract, WORK_TYPE, type WorkBody } from '@toolfabric/contract';
import { pinnedWorkSubject, probeCallId, workSubject } from '@toolfabric/ledger';
import { callPermit } from './call-permit.ts';
import type { RouterContext } from './router-context.ts';

const sign = (ctx: RouterContext, body: WorkBody): { subject: string; data: Uint8Array } => ({
  subject: body.subject,
  data: Buffer.from(JSON.stringify(ctx.signer.sign(WORK_TYPE, JSON.stringify(body))), 'utf8'),
});

const common = (call: CallRecord, { governance }: ToolContract) => ({
  kind: call.kind,
  tenant: call.actor.tenant,
  actor: call.actor,
  taskId: call.taskId,
  tool: call.tool,
  handler: call.handler,
  rerunnable: call.rerunnable,
  args: call.args,
  argsHash: call.argsHash,
  decision: call.decision,
  ...(governance.redact.length === 0 ? {} : { redact: governance.redact }),
  ...(call.workspace === undefined ? {} : { workspace: call.workspace }),
  ...(call.operation === undefined ? {} : { operation: call.operation }),
  ...(call.testCommand === undefined ? {} : { testCommand: call.testCommand }),
  ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
});

/** Where the message of the present epoch goes: to the home of its workspace, or to anybody of its kind. */
export const subjectOf = ({ kind, pin, priority, actor }: CallRecord): string =>
  pin === undefined ? workSubject(kind, priority, actor.tenant) : pinnedWorkSubject(kind, pin, actor.tenant);

/** The signed message of the call's present epoch. */
export const workMessage = (
  ctx: RouterContext,
  call: CallRecord,
  contract: ToolContract,
): { subject: string; data: Uint8Array } =>
  sign(ctx, {
    ...common(call, contract),
    ...callPermit(ctx, call, contract, call),
    subject: subjectOf(call),
    callId: call.callId,
    epoch: call.epoch,
    mode: 'run',
    effect: call.effect,
    claim: call.claim,
    deadline: call.deadline,
    expires: call.deadline,
    ...(call.background === undefined ? {} : { background: call.background }),
    ...(call.approvalId === undefined ? {} : { approvalDigest: call.approvalId }),
  });

/** The internal claimless call that asks for the n-th time what became of `call` (protocol 7). */
export const probeMessage = (
  ctx: RouterContext,
  call: CallRecord,
  contract: ToolContract,
  n: number,
  intent: WorkBody['intent'],
): { subject: string; data: Uint8Array } => {
  const until = ctx.clock.now() + call.decision.limits.timeoutMs + CLOCK_LEEWAY_MS;
  const probe = { callId: probeCallId(call.callId, n), epoch: 1, deadline: until };
  return sign(ctx, {
    ...common(call, contract),
    ...callPermit(ctx, call, contract, probe),
    ...probe,
    subject: workSubject(call.kind, 'hi', call.actor.tenant),
    parentCallId: call.callId,
    mode: 'probe',
    effect: 'none',
    claim: 'none',
    expires: until,
    ...(intent === undefined ? {} : { intent }),
  });
};
