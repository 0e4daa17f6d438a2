import { RPC, type RpcVerb } from '@toolfabric/contract';
import { depthOf, FabricError, toFabricError } from '@toolfabric/kernel';
import { QueueFull, StoreUnavailable } from '@toolfabric/ports';
import type { z } from 'zod';
import { decideOne, getApproval, listApprovals } from './approvals/approval-verbs.ts';
import { decideBatch } from './approvals/decide-batch.ts';
import { editApproval } from './approvals/edit-approval.ts';
import { cancelCall, getCall } from './call-verbs.ts';
import { handleCall } from './handle-call.ts';
import { permitArtifact } from './permit-artifact.ts';
import { describeTool, listTools, moveTool, putDraft } from './registry-verbs.ts';
import type { RouterServices } from './router-services.ts';
import { createTask, endTask, getTask } from './task-verbs.ts';
import { resolveUnknown } from './unknown/resolve-unknown.ts';
import { getUnknown, listUnknown } from './unknown/unknown-verbs.ts';
import { widenTask } from './widen-task.ts';

type Request<V extends RpcVerb> = z.output<(typeof RPC)[V]['request']>;
type Handlers = { [V in RpcVerb]: (services: RouterServices, request: Request<V>) => unknown };

const HANDLERS: Handlers = {
  call: handleCall,
  getCall: (services, { actor, callId }) => getCall(services, actor, callId),
  cancelCall: (services, { actor, callId }) => cancelCall(services, actor, callId),
  createTask,
  getTask: (services, { actor, taskId }) => getTask(services, actor, taskId),
  endTask,
  widenTask,
  permitArtifact,
  listUnknown,
  getUnknown,
  resolveUnknown,
  listApprovals,
  getApproval,
  decideApproval: decideOne,
  editApproval,
  decideBatch,
  listTools: (services, { actor, allStates, after }) => listTools(services, actor, allStates, after),
  describeTool: (services, { actor, tool }) => describeTool(services, actor, tool),
  putDraft: (services, { actor, rights, contract }) => putDraft(services, actor, rights, contract),
  moveTool: (services, { actor, rights, to, ...tool }) => moveTool(services, actor, rights, tool, to),
};

/** Levels of a request: those of arguments or of a contract, and some for what is around them. */
const MAX_REQUEST_DEPTH = 64;

const isVerb = (verb: string): verb is RpcVerb => Object.hasOwn(RPC, verb);

/** Only here is a fault of the text one of whoever sent it. */
const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new FabricError('invalid_request', 'the request is not JSON');
    throw thrown;
  }
};

const parse = <V extends RpcVerb>(verb: V, body: string): Request<V> => {
  const value = parseJson(body);
  if (depthOf(value, MAX_REQUEST_DEPTH) > MAX_REQUEST_DEPTH)
    throw new FabricError('too_deep', `the request is nested more than ${MAX_REQUEST_DEPTH} levels deep`);
  const parsed = RPC[verb].request.safeParse(value);
  if (parsed.success) return parsed.data as Request<V>;
  const fields = parsed.error.issues
    .slice(0, 20)
    .map(({ path, message }) => ({ field: `/${path.join('/')}`, expected: message }));
  throw new FabricError('invalid_request', 'the request has the wrong shape', { fields });
};

/** A store that does not answer is an outage: the same request may be sent again. */
const toError = (thrown: unknown): FabricError => {
  if (thrown instanceof StoreUnavailable || thrown instanceof QueueFull)
    return new FabricError('unavailable', 'the bus does not answer at the moment', {
      retryAfterMs: 500,
      cause: thrown,
    });
  return toFabricError(thrown);
};

/** Bytes of an answer that the bus certainly takes. */
const MAX_ANSWER_BYTES = 150 * 1024;

const fitting = (answer: string): string => {
  if (Buffer.byteLength(answer) <= MAX_ANSWER_BYTES) return answer;
  throw new FabricError('too_large', 'the answer is larger than a message of the bus may be');
};

const framesOf = (error: Error): string =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 6)
    .join(';');

/** Answers one request of a gateway; never throws. */
export const serveVerb = async (services: RouterServices, verb: string, body: string): Promise<string> => {
  const { metrics } = services.ctx.telemetry;
  const began = performance.now();
  let code: string = 'ok';
  try {
    if (!isVerb(verb)) throw new FabricError('invalid_request', 'there is no such verb');
    const handler = HANDLERS[verb] as (services: RouterServices, request: unknown) => unknown;
    return fitting(JSON.stringify({ ok: await handler(services, parse(verb, body)) }));
  } catch (thrown) {
    const error = toError(thrown);
    code = error.type;
    if (error.type === 'internal') {
      const cause = error.details.cause;
      services.ctx.log.error('verb.failed', {
        verb,
        cause: cause instanceof Error ? cause.name : 'thrown',
        // Frames only: the message of a parser quotes what it could not parse.
        where: cause instanceof Error ? framesOf(cause) : '',
      });
    }
    return JSON.stringify({ error: error.toToolError() });
  } finally {
    const known = isVerb(verb) ? verb : 'unknown';
    metrics.count('toolfabric_requests_total', { verb: known, code });
    metrics.observe('toolfabric_request_duration_seconds', (performance.now() - began) / 1000, { verb: known });
  }
};
