import {
  type GetTraceResponse,
  type ListCallsResponse,
  type ListDecisionsResponse,
  type TraceServiceClient,
  tracedCallFromWire,
  tracedDecisionFromWire,
  tracedEventFromWire,
  tracedPayloadFromWire,
  tracedSpanFromWire,
} from '@toolfabric/proto';
import type { FabricClient, Trace } from './client-types.ts';
import type { Requester } from './requester.ts';

type TraceVerbs = Pick<FabricClient, 'listCalls' | 'listDecisions' | 'getTrace'>;

const pageOf = ({ calls, next }: ListCallsResponse) => ({
  calls: calls.map(tracedCallFromWire),
  ...(next === undefined ? {} : { next }),
});

const decisionsOf = ({ decisions, next }: ListDecisionsResponse) => ({
  decisions: decisions.map(tracedDecisionFromWire),
  ...(next === undefined ? {} : { next }),
});

const traceOf = ({ call, events, spans, payloads, cut }: GetTraceResponse): Trace => ({
  ...(call === undefined ? {} : { call: tracedCallFromWire(call) }),
  events: events.map(tracedEventFromWire),
  spans: spans.map(tracedSpanFromWire),
  payloads: payloads.map(tracedPayloadFromWire),
  cut,
});

export const traceVerbs = (client: TraceServiceClient, requester: Requester): TraceVerbs => ({
  listCalls({ taskId, tool, state, errorType, truncated, since, until, after, limit } = {}, options = {}) {
    const request = { taskId, tool, state, errorType, truncated, sinceMs: since, untilMs: until, after, limit };
    return requester.ask(client.listCalls.bind(client), request, pageOf, options);
  },
  listDecisions({ callId, since, until, after, limit } = {}, options = {}) {
    const request = { callId, sinceMs: since, untilMs: until, after, limit };
    return requester.ask(client.listDecisions.bind(client), request, decisionsOf, options);
  },
  getTrace: (callId, options = {}) => requester.ask(client.getTrace.bind(client), { callId }, traceOf, options),
});
