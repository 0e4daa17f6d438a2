import { fillArguments } from '@toolfabric/catalogue';
import {
  type BoundFile,
  type CallRecord,
  CLOCK_LEEWAY_MS,
  type ToolContract,
  type ToolRef,
  WORK_TYPE,
  type WorkBody,
} from '@toolfabric/contract';
import { digestOf } from '@toolfabric/kernel';
import { pinnedWorkSubject, probeCallId, workSubject } from '@toolfabric/ledger';
import { redactionRulesOf } from '@toolfabric/results';
import { callPermit } from './call-permit.ts';
import { egressPermit } from './egress/egress-permit.ts';
import type { RouterContext } from './router-context.ts';

const sign = (ctx: RouterContext, body: WorkBody): { subject: string; data: Uint8Array } => ({
  subject: body.subject,
  data: Buffer.from(JSON.stringify(ctx.signer.sign(WORK_TYPE, JSON.stringify(body))), 'utf8'),
});

const redactionOf = (governance: ToolContract['governance']) => {
  const redact = redactionRulesOf(governance);
  return redact.length === 0 ? {} : { redact };
};

const common = (call: CallRecord, { governance, execution }: ToolContract) => ({
  kind: call.kind,
  tenant: call.actor.tenant,
  actor: call.actor,
  taskId: call.taskId,
  tool: call.tool,
  handler: call.handler,
  ...(Object.keys(execution.options).length === 0 ? {} : { options: execution.options }),
  rerunnable: call.rerunnable,
  args: call.args,
  argsHash: call.argsHash,
  decision: call.decision,
  ...(call.watermark === undefined ? {} : { watermark: call.watermark }),
  ...redactionOf(governance),
  ...(call.workspace === undefined ? {} : { workspace: call.workspace }),
  ...(call.operation === undefined ? {} : { operation: call.operation }),
  ...(call.testCommand === undefined ? {} : { testCommand: call.testCommand }),
  ...(call.writable === undefined ? {} : { writable: call.writable }),
  ...(call.analysis === undefined ? {} : { analysis: call.analysis }),
  ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
});

/** Where the message of the present epoch goes: to the home of its workspace, or to anybody of its kind. */
export const subjectOf = ({ kind, pin, priority, actor }: CallRecord): string =>
  pin === undefined ? workSubject(kind, priority, actor.tenant) : pinnedWorkSubject(kind, pin, actor.tenant);

/** The signed message of the call's present epoch, with the files that a yes for it is bound to. */
export const workMessage = (
  ctx: RouterContext,
  call: CallRecord,
  contract: ToolContract,
  boundFiles: readonly BoundFile[] = [],
): { subject: string; data: Uint8Array } =>
  sign(ctx, {
    ...common(call, contract),
    ...callPermit(ctx, call, contract, call),
    ...egressPermit(ctx, call, contract, call),
    ...(boundFiles.length === 0 ? {} : { boundFiles: [...boundFiles] }),
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

/** How long a question may take from now on. */
const untilOf = (ctx: RouterContext, timeoutMs: number): number => ctx.clock.now() + timeoutMs + CLOCK_LEEWAY_MS;

/**
 * The n-th question about `call` in the words of another tool (protocol 7): an internal claimless read in the name of
 * the parent's actor, under its decision, with the limits of the tool that is asked.
 */
export const queryMessage = (
  ctx: RouterContext,
  call: CallRecord,
  { governance: { reconcile } }: ToolContract,
  asked: { readonly ref: ToolRef; readonly contract: ToolContract },
  n: number,
): { subject: string; data: Uint8Array } => {
  const { contract, ref } = asked;
  const { execution, output } = contract;
  const until = untilOf(ctx, execution.timeout_ms);
  const args = fillArguments(reconcile?.query?.arguments ?? {}, call.args) as CallRecord['args'];
  const limits = { timeoutMs: execution.timeout_ms, outputBytes: output.budget_bytes };
  const { operation, testCommand, ...parent } = call;
  const question: CallRecord = {
    ...parent,
    tool: ref,
    handler: execution.handler,
    args,
    argsHash: digestOf(args),
    decision: { ...call.decision, limits },
  };
  const probe = { callId: probeCallId(call.callId, n), epoch: 1, deadline: until };
  return sign(ctx, {
    ...common(question, contract),
    ...callPermit(ctx, question, contract, probe),
    ...egressPermit(ctx, question, contract, probe),
    ...probe,
    subject: workSubject(call.kind, 'hi', call.actor.tenant),
    parentCallId: call.callId,
    mode: 'run',
    effect: 'none',
    claim: 'none',
    expires: until,
  });
};

/** The internal claimless call that asks for the n-th time what became of `call` (protocol 7). */
export const probeMessage = (
  ctx: RouterContext,
  call: CallRecord,
  contract: ToolContract,
  n: number,
  intent: WorkBody['intent'],
): { subject: string; data: Uint8Array } => {
  const until = untilOf(ctx, call.decision.limits.timeoutMs);
  const probe = { callId: probeCallId(call.callId, n), epoch: 1, deadline: until };
  return sign(ctx, {
    ...common(call, contract),
    ...callPermit(ctx, call, contract, probe),
    ...egressPermit(ctx, call, contract, probe, true),
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
