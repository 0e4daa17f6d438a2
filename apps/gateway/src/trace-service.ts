import { CallId, ToolError, TRACE_RPC, type TraceVerb } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';
import {
  type TraceServiceServer,
  tracedCallToWire,
  tracedDecisionToWire,
  tracedEventToWire,
  tracedPayloadToWire,
  tracedSpanToWire,
} from '@toolfabric/proto';
import { z } from 'zod';
import type { FrontDoor } from './front-door.ts';
import { invalidField, invalidRequest } from './invalid-request.ts';
import type { RequestContext } from './request-context.ts';

type Request<V extends TraceVerb> = z.input<(typeof TRACE_RPC)[V]['request']>;
type Reply<V extends TraceVerb> = z.output<(typeof TRACE_RPC)[V]['reply']>;

const ANSWER_MS = 15_000;

const away = (cause?: unknown) =>
  new FabricError('traces_unavailable', 'the trace store does not answer', { retryAfterMs: 1_000, cause });

const Answer = z.union([z.strictObject({ ok: z.unknown() }), z.strictObject({ error: ToolError })]);

const okOf = (text: string): unknown => {
  try {
    const answer = Answer.parse(JSON.parse(text));
    if ('error' in answer) throw FabricError.fromToolError(answer.error);
    return answer.ok;
  } catch (thrown) {
    throw thrown instanceof FabricError ? thrown : away(thrown);
  }
};

/** Asks once: a trace can be asked for again, and nobody should wait twice for a store that is away. */
const ask = async <V extends TraceVerb>(
  ports: GatewayPorts,
  verb: V,
  request: Request<V>,
  context: RequestContext,
): Promise<Reply<V>> => {
  const checked = TRACE_RPC[verb].request.safeParse(request);
  if (!checked.success) throw invalidRequest(checked.error);
  const waitMs = Math.max(1, Math.min(ANSWER_MS, context.leftMs()));
  const text = await ports.askTrace(verb, JSON.stringify(checked.data), waitMs).catch((thrown: unknown) => {
    throw thrown instanceof RequestUnanswered ? away(thrown) : thrown;
  });
  const reply = TRACE_RPC[verb].reply.safeParse(okOf(text));
  if (!reply.success) throw away(reply.error);
  return reply.data as Reply<V>;
};

const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const notConfigured = () =>
  new FabricError('not_configured', 'the gateway is configured to have no trace store', {
    hint: 'Do without traces, or ask an operator to run a trace writer and to set TOOLFABRIC_TRACES=on of the gateway.',
  });

export const createTraceService = (door: FrontDoor, ports: GatewayPorts, hasTraces: boolean): TraceServiceServer =>
  hasTraces ? askingService(door, ports) : refusingService(door);

const refusingService = (door: FrontDoor): TraceServiceServer => {
  const refuse = async () => Promise.reject(notConfigured());
  return { listCalls: door.unary(refuse), getTrace: door.unary(refuse), listDecisions: door.unary(refuse) };
};

/** To see what the decisions about everybody's calls of the tenant were made of. */
const REPLAY_RIGHT = 'policy:replay';

const askingService = (door: FrontDoor, ports: GatewayPorts): TraceServiceServer => ({
  listCalls: door.unary(async ({ sinceMs, untilMs, ...filter }, context) => {
    const { actor } = context.identity;
    const request = { actor, ...present({ ...filter, since: sinceMs, until: untilMs }) };
    const { calls, next } = await ask(ports, 'listCalls', request as Request<'listCalls'>, context);
    return { calls: calls.map(tracedCallToWire), next };
  }),
  listDecisions: door.unary(async ({ callId, sinceMs, untilMs, ...page }, context) => {
    const { actor, rights } = context.identity;
    if (!rights.includes(REPLAY_RIGHT))
      throw new FabricError('forbidden', `this verb needs a token with the right ${REPLAY_RIGHT}`);
    const request = { tenant: actor.tenant, ...present({ ...page, callId, since: sinceMs, until: untilMs }) };
    const { decisions, next } = await ask(ports, 'listDecisions', request, context);
    return { decisions: decisions.map(tracedDecisionToWire), next };
  }),
  getTrace: door.unary(async ({ callId }, context) => {
    if (!CallId.safeParse(callId).success) throw invalidField('call_id', 'the id of a call');
    const { actor } = context.identity;
    const { call, events, spans, payloads, cut } = await ask(ports, 'getTrace', { actor, callId }, context);
    return {
      call: call && tracedCallToWire(call),
      events: events.map(tracedEventToWire),
      spans: spans.map(tracedSpanToWire),
      payloads: payloads.map(tracedPayloadToWire),
      cut,
    };
  }),
});
