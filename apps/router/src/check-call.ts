import {
  type BoundFile,
  type CallRecord,
  type CallRequest,
  type DecisionSummary,
  effectOf,
  MAX_ARGUMENT_BYTES,
  MAX_DEPTH,
  MAX_MESSAGE_BYTES,
  type RegistryRecord,
  type TaskRecord,
  type ToolContract,
} from '@toolfabric/contract';
import {
  asWidened,
  checkConstraints,
  factsOf,
  isPermittedHost,
  raiseByTaint,
  reachesOut,
  shellDigest,
  wallEnd,
} from '@toolfabric/governance';
import { canonicalJson, depthOf, FabricError, sha256Hex } from '@toolfabric/kernel';
import type { CallFacts, PolicyAnswer } from '@toolfabric/ports';
import { resolveTool } from '@toolfabric/routing';
import { approvalIdFor } from './approvals/approval-id.ts';
import { confirmPlace, takeBudget, takePlace } from './budget/take-budget.ts';
import { checkBackground, runsApart } from './check-background.ts';
import { checkPersonalData } from './check-personal-data.ts';
import { actingAccount } from './credentials/acting-account.ts';
import { wayOut } from './egress/way-out.ts';
import { operationFields } from './operation-fields.ts';
import { decideCall } from './policy/decide-call.ts';
import { leasedResource } from './resource-lease.ts';
import { routeCall } from './route-call.ts';
import type { RouterServices } from './router-services.ts';
import type { KnownTask } from './task-cache.ts';

/** A call without a deadline of its own may wait in the queue for so long before its execution, in milliseconds. */
const DEFAULT_QUEUE_MS = 60_000;

/** What a work message holds beside the arguments, in bytes. */
const ENVELOPE_BYTES = 8 * 1024;

type Args = Record<string, CallRecord['args'][string]>;

/** Size and depth before anything walks through the arguments. */
const checkShape = (args: unknown): { args: Args; canonical: string } => {
  if (depthOf(args, MAX_DEPTH) > MAX_DEPTH)
    throw new FabricError('too_deep', `the arguments are nested more than ${MAX_DEPTH} levels deep`);
  if (args === null || typeof args !== 'object' || Array.isArray(args))
    throw new FabricError('invalid_arguments', 'the arguments must be a JSON object', {
      fields: [{ field: '', expected: 'an object', got: Array.isArray(args) ? 'an array' : String(typeof args) }],
    });
  const canonical = canonicalJson(args);
  const size = Buffer.byteLength(canonical);
  if (size > MAX_ARGUMENT_BYTES)
    throw new FabricError('too_large', `the arguments take ${size} bytes; at most ${MAX_ARGUMENT_BYTES} are accepted`);
  // In the signed envelope the arguments stand as a string in a string, where a byte takes seven at the most.
  if (size * 7 <= MAX_MESSAGE_BYTES - ENVELOPE_BYTES) return { args: args as Args, canonical };
  const sent = Buffer.byteLength(JSON.stringify(JSON.stringify(canonical)));
  if (sent > MAX_MESSAGE_BYTES - ENVELOPE_BYTES)
    throw new FabricError(
      'too_large',
      `the arguments take ${sent} bytes in a message; a message holds ${MAX_MESSAGE_BYTES}`,
    );
  return { args: args as Args, canonical };
};

/** The tool that runs what the task declares. */
const TEST_TOOL = 'test.run';

const sentBytes = (part: unknown): number =>
  part === undefined ? 0 : Buffer.byteLength(JSON.stringify(JSON.stringify(part)));

/** What a message holds beside its envelope must fit together, not each part alone. Throws `too_large`. */
export const checkMessage = (
  { args, workspace, testCommand, writable, egress }: CallRecord,
  files?: readonly BoundFile[],
  execution?: ToolContract['execution'],
): void => {
  const sealed = [execution?.egress, egress].map((part) => sentBytes(part === undefined ? part : JSON.stringify(part)));
  const parts = [workspace, testCommand, writable, files, execution?.options].map(sentBytes);
  const beside = [...sealed, ...parts].reduce((sum, bytes) => sum + bytes, 0);
  if (beside < 2_048) return;
  const sent = sentBytes(args) + beside;
  if (sent > MAX_MESSAGE_BYTES - ENVELOPE_BYTES)
    throw new FabricError(
      'too_large',
      `the call takes ${sent} bytes in a message; a message holds ${MAX_MESSAGE_BYTES}`,
    );
};

const checkSchema = (services: RouterServices, tool: RegistryRecord, args: Args): void => {
  const fields = services.registry.inputCheck(tool)(args);
  if (fields.length === 0) return;
  const first = fields.map(({ field, expected }) => `${field || 'the arguments'}: ${expected}`).slice(0, 3);
  throw new FabricError('invalid_arguments', `the arguments do not fit the tool: ${first.join('; ')}`, { fields });
};

interface Proposal {
  readonly request: Pick<CallRequest, 'actor' | 'roles' | 'limits'>;
  readonly task: TaskRecord;
  readonly tool: RegistryRecord;
  readonly args: Args;
  /** Whose account acts: looked up and refused where it cannot act, unless it is known, or known to be nobody's. */
  readonly account?: string | undefined;
}

/** What the arguments, the task and the contract tell of a proposal. */
export const readFacts = (
  { environment }: RouterServices,
  { request, task, tool, args, account }: Proposal,
): CallFacts =>
  factsOf({
    contract: tool.contract,
    args,
    actor: request.actor,
    task,
    environment,
    roles: request.roles ?? [],
    ...(request.limits === undefined ? {} : { requestLimits: request.limits }),
    ...(account === undefined ? {} : { account }),
  });

const accountFor = ({ ctx, credentials: find }: RouterServices, proposal: Proposal): Promise<string | undefined> =>
  'account' in proposal
    ? Promise.resolve(proposal.account)
    : actingAccount({ find, now: ctx.clock.now() }, proposal.request.actor, proposal.tool.contract);

/** The same with what its agent has read from outside, and within what the task keeps to. */
export const factsFor = async (services: RouterServices, proposal: Proposal): Promise<CallFacts> => {
  const { request, task, tool, args } = proposal;
  const taint = await services.taints.marksFor(request.actor, task.taskId, tool.contract, args);
  const permitted = (host: string) => isPermittedHost(task, host);
  const account = await accountFor(services, proposal);
  const facts = raiseByTaint({ ...readFacts(services, { ...proposal, account }), taint }, tool.contract, permitted);
  checkConstraints(task.constraints, tool.contract, facts);
  checkPersonalData(tool.contract, args);
  return facts;
};

/** RT-3: content from outside that its agent has read may be what speaks in a proposal. */
const inputTrustOf = ({ taint }: CallFacts) => (taint.length === 0 ? 'trusted' : 'untrusted');

/** The facts under the task as this router knows it; what that forbids is asked of the stored one before it is refused. */
const factsNow = async (
  services: RouterServices,
  known: KnownTask,
  rest: Omit<Proposal, 'task'>,
): Promise<{ task: TaskRecord; facts: CallFacts }> => {
  const under = async (stored: TaskRecord) => {
    const task = asWidened(stored);
    return { task, facts: await factsFor(services, { ...rest, task }) };
  };
  try {
    return await under(known.task);
  } catch (thrown) {
    if (!(thrown instanceof FabricError) || thrown.type !== 'constraint_violated') throw thrown;
    return under(await known.reread());
  }
};

const firstState = (answer: PolicyAnswer, operation: string | undefined): CallRecord['state'] =>
  answer.verdict === 'needs_approval' ? 'awaiting_approval' : operation === undefined ? 'queued' : 'accepted';

const deadlineOf = (request: CallRequest, decision: DecisionSummary, now: number): number =>
  now + (request.deadlineMs ?? decision.limits.timeoutMs + DEFAULT_QUEUE_MS);

/** What is recorded of a proposal beside what decides about it: for whoever reads the trace later. */
const toldBy = ({ turn, modelCallId, model, catalogueDigest, repairs, traceparent }: CallRequest) => ({
  ...(turn === undefined ? {} : { turn }),
  ...(modelCallId === undefined ? {} : { modelCallId }),
  ...(model === undefined ? {} : { model }),
  ...(catalogueDigest === undefined ? {} : { catalogueDigest }),
  ...(repairs === undefined ? {} : { repairs }),
  ...(traceparent === undefined ? {} : { traceparent }),
});

export interface CheckedCall {
  readonly record: CallRecord;
  /** The last check, which may go on while the call is being accepted; it must have passed before anything is published. */
  readonly confirm: () => Promise<void>;
  /** Of a call in the place of another one: to be done once that one can never run, and before this one is accepted. */
  readonly takePlace: () => Promise<void>;
}

export interface CheckOptions {
  /** The call that ends when this one begins. */
  readonly inPlaceOf?: CallRecord;
}

/**
 * The checks of design §3, row 2, in order: shape, task scope, resolve, schema, policy, execution. Each is a pure
 * function over what was read; the first refusal is thrown as a typed error. What comes out is the record to accept.
 */
export const checkCall = async (
  services: RouterServices,
  request: CallRequest,
  callId: string,
  { inPlaceOf }: CheckOptions = {},
): Promise<CheckedCall> => {
  const { ctx, registry, policy } = services;
  const { actor } = request;
  const now = ctx.clock.now();
  const { args, canonical } = checkShape(request.args);
  const known = await services.tasks.open(actor, request.taskId);
  const { confirm } = known;
  const visible = (record: RegistryRecord) => policy.couldAllow(actor, record);
  const tool = resolveTool(registry.index, request.tool, { visible });
  checkSchema(services, tool, args);
  checkBackground(request, tool.contract);
  const { task, facts } = await factsNow(services, known, { request, tool, args });
  const answer = decideCall(services, { actor, task, tool, args, facts }, callId);
  const { contract, digest } = tool;
  const { decision } = answer;
  const { governance } = contract;
  const route = await routeCall(services, contract, {
    priority: request.priority,
    inputTrust: inputTrustOf(facts),
    reachesOut: reachesOut(contract, args),
  });
  const operation = operationFields(registry.index, request, tool, args, now);
  const pin = ctx.homes.pinOf(task, route.kind);
  const argsHash = sha256Hex(canonical);
  const record: CallRecord = {
    callId,
    actor,
    taskId: request.taskId,
    tool: { name: contract.name, version: contract.version, digest },
    handler: contract.execution.handler,
    kind: route.kind,
    priority: route.priority,
    effect: effectOf(governance.risk),
    risk: governance.risk,
    claim: governance.claimless ? 'none' : 'required',
    rerunnable: governance.idempotent,
    args,
    argsHash,
    ...(task.workspace === undefined ? {} : { workspace: task.workspace }),
    ...(pin === undefined ? {} : { pin }),
    decision,
    ...operation,
    ...(answer.verdict === 'needs_approval' ? { approvalId: approvalIdFor(callId) } : {}),
    state: firstState(answer, operation.operation ?? leasedResource({ effect: effectOf(governance.risk), decision })),
    epoch: 1,
    createdAt: now,
    deadline: Math.min(deadlineOf(request, decision, now), wallEnd(task)),
    ...(runsApart(request, contract, decision, ctx.pace) ? { background: true } : {}),
    ...(task.constraints?.writable === undefined || governance.risk === 'read'
      ? {}
      : { writable: task.constraints.writable }),
    ...wayOut(contract, args, task),
    ...(contract.name === TEST_TOOL && task.testCommand !== undefined ? { testCommand: task.testCommand } : {}),
    ...shellDigest(contract, args),
    ...ctx.policyMark(),
    ...(request.roles === undefined ? {} : { roles: request.roles }),
    ...(request.limits === undefined ? {} : { limits: request.limits }),
    ...toldBy(request),
  };
  checkMessage(record, undefined, contract.execution);
  services.quotas.checkPool(actor.tenant, route.kind);
  await services.waiting.enter(record, inPlaceOf?.approvalId);
  const share = { record, task, contract, requestKey: request.requestKey, inPlaceOf: inPlaceOf?.callId };
  await takeBudget(services, share);
  return {
    record,
    takePlace: () => takePlace(services, share),
    confirm: async () => void (await Promise.all([confirm(), confirmPlace(services, share)])),
  };
};
