import { TRACE_RPC, type TraceVerb } from '@toolfabric/contract';
import { depthOf, FabricError, toFabricError } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import type { TraceStore } from '@toolfabric/trace-clickhouse';
import type { z } from 'zod';

type Request<V extends TraceVerb> = z.output<(typeof TRACE_RPC)[V]['request']>;
type Handlers = { [V in TraceVerb]: (store: TraceStore, request: Request<V>) => Promise<unknown> };

const HANDLERS: Handlers = {
  listCalls: (store, request) => store.listCalls(request),
  listDecisions: (store, request) => store.listDecisions(request),
  getTrace: (store, request) => store.getTrace(request),
};

const MAX_DEPTH = 8;
const RETRY_MS = 2_000;

const isVerb = (verb: string): verb is TraceVerb => Object.hasOwn(TRACE_RPC, verb);

/** Only here is a fault of the text one of whoever sent it. */
const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new FabricError('invalid_request', 'the question is not JSON');
    throw thrown;
  }
};

const parse = (verb: TraceVerb, body: string): unknown => {
  const value = parseJson(body);
  if (depthOf(value, MAX_DEPTH) > MAX_DEPTH) throw new FabricError('too_deep', 'the question is nested too deeply');
  const parsed = TRACE_RPC[verb].request.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues
    .slice(0, 20)
    .map(({ path, message }) => ({ field: `/${path.join('/')}`, expected: message }));
  throw new FabricError('invalid_request', 'the question has the wrong shape', { fields });
};

/** It stays so until a person acts: nobody gets an answer by asking again. */
const notConfigured = (reason: string): FabricError =>
  new FabricError('not_configured', `there is no trace store: ${reason}`, {
    hint: 'Do without traces, or ask an operator: `toolfabric doctor` says what is missing, and a start takes it in.',
  });

const toError = (thrown: unknown): FabricError => {
  if (thrown instanceof StoreUnavailable)
    return new FabricError('traces_unavailable', thrown.message, { retryAfterMs: RETRY_MS, cause: thrown });
  return toFabricError(thrown);
};

/** Answers one question of a gateway, as JSON `{ok}` or `{error}`; never throws. */
export const answerQuestion = async (store: TraceStore, verb: string, body: string): Promise<string> => {
  try {
    if (!isVerb(verb)) throw new FabricError('invalid_request', 'there is no such verb');
    if (store.status.state === 'absent') throw notConfigured(store.status.reason);
    const handler = HANDLERS[verb] as (store: TraceStore, request: unknown) => Promise<unknown>;
    return JSON.stringify({ ok: await handler(store, parse(verb, body)) });
  } catch (thrown) {
    return JSON.stringify({ error: toError(thrown).toToolError() });
  }
};
