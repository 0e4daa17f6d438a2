import {
  CallId,
  CallLimits,
  MAX_ARGUMENT_BYTES,
  MAX_DEPTH,
  type RpcRequest,
  TaskId,
  ToolName,
  ToolVersion,
} from '@toolfabric/contract';
import { callIdFor, depthOf, FabricError } from '@toolfabric/kernel';
import { callLimitsFromWire, priorityFromWire, type wireCall } from '@toolfabric/proto';
import type { Identity } from './authenticate.ts';
import { fromWire, invalidField } from './invalid-request.ts';

const DAY_MS = 86_400_000;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Everything that the router is asked, but tool and arguments. */
export type ProposalHead = Omit<RpcRequest<'call'>, 'tool' | 'args'>;

/** Checks what the caller's program wrote. Throws `invalid_request` or `request_key_out_of_range`. */
export const readHead = (
  proposal: wireCall.CallProposal,
  { actor, rights }: Pick<Identity, 'actor' | 'rights'>,
  now: number,
  traceparent: string | undefined,
): { callId: string; head: ProposalHead } => {
  const { requestKey, taskId, operationKey, deadlineMs, turn, modelCallId, model, catalogueDigest } = proposal;
  const { repairs, background } = proposal;
  const limits = readLimits(proposal.limits);
  const callId = callIdFor(actor, requestKey, now);
  checkTaskId(taskId);
  checkText('operation_key', operationKey);
  checkText('model_call_id', modelCallId);
  checkText('model', model);
  checkText('catalogue_digest', catalogueDigest, 80);
  if (repairs !== undefined && !CallId.safeParse(repairs).success) throw invalidField('repairs', 'the id of a call');
  if (deadlineMs !== undefined && (deadlineMs < 1 || deadlineMs > DAY_MS)) {
    throw invalidField('deadline_ms', `from 1 to ${DAY_MS}`);
  }
  const head: ProposalHead = {
    actor,
    taskId,
    requestKey,
    priority: fromWire('priority', () => priorityFromWire(proposal.priority)),
    ...(operationKey === undefined ? {} : { operationKey }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(limits === undefined ? {} : { limits }),
    ...(turn === undefined ? {} : { turn }),
    ...(modelCallId === undefined ? {} : { modelCallId }),
    ...(model === undefined ? {} : { model }),
    ...(catalogueDigest === undefined ? {} : { catalogueDigest }),
    ...(repairs === undefined ? {} : { repairs }),
    ...(background === undefined ? {} : { background }),
    ...(rights.length === 0 ? {} : { roles: [...rights] }),
    // A trace context that is broken is left out, as its standard says.
    ...(traceparent !== undefined && TRACEPARENT.test(traceparent) ? { traceparent } : {}),
  };
  return { callId, head };
};

/** Throws `invalid_request` for a limit out of its bounds: one that is not understood would be kept by nobody. */
const readLimits = (given: wireCall.CallLimits | undefined): CallLimits | undefined => {
  if (given === undefined) return undefined;
  const read = CallLimits.safeParse(callLimitsFromWire(given));
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  throw invalidField(`limits.${issue?.path.join('.') ?? ''}`, issue?.message ?? 'a limit');
};

/** Throws `invalid_request` for what cannot be the id of any task. */
export const checkTaskId = (taskId: string): void => {
  if (!TaskId.safeParse(taskId).success) throw invalidField('task_id', 'the id of a task');
};

const checkText = (field: string, text: string | undefined, most = 200): void => {
  if (text !== undefined && (text.length === 0 || text.length > most)) {
    throw invalidField(field, `from 1 to ${most} characters`);
  }
};

/** Checks what the model wrote: throws what a model can repair. Returns the body of the request to the router. */
export const readBody = (head: ProposalHead, { tool, argumentsJson }: wireCall.CallProposal): string => {
  checkTool(tool);
  const { text } = readArguments(argumentsJson);
  // The arguments are put in as text, so that they are written once.
  return `${JSON.stringify({ ...head, tool }).slice(0, -1)},"args":${text}}`;
};

/** Throws what a model can repair: text that is no JSON, too deep or too large. */
export const readArguments = (given: string): { readonly args: unknown; readonly text: string } => {
  const args = parseArguments(given);
  if (depthOf(args, MAX_DEPTH) > MAX_DEPTH) {
    throw new FabricError('too_deep', `the arguments are nested more than ${MAX_DEPTH} levels deep`);
  }
  const text = JSON.stringify(args);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_ARGUMENT_BYTES) {
    throw new FabricError('too_large', `the arguments take ${bytes} bytes of at most ${MAX_ARGUMENT_BYTES}`);
  }
  return { args, text };
};

/** Splits at the first `@`, which a name cannot hold. */
export const splitTool = (tool: string): { name: string; version: string | undefined } => {
  const at = tool.indexOf('@');
  return at < 0 ? { name: tool, version: undefined } : { name: tool.slice(0, at), version: tool.slice(at + 1) };
};

/** Throws `unknown_tool` or `unknown_version` for what cannot be the name of any. */
export const checkTool = (tool: string): void => {
  const { name, version } = splitTool(tool);
  if (!ToolName.safeParse(name).success) throw new FabricError('unknown_tool', 'no tool can have this name');
  if (version !== undefined && !ToolVersion.safeParse(version).success) {
    throw new FabricError('unknown_version', 'a version has three numbers, such as 1.0.0');
  }
};

/** Nothing at all counts as no arguments. */
const parseArguments = (text: string): unknown => {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new FabricError('invalid_arguments', 'the arguments are not JSON', {
      fields: [{ field: '', expected: 'a JSON object' }],
    });
  }
};
