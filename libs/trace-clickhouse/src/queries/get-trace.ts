import { PayloadRecord, type SpanRecord, type TRACE_RPC, type TraceEvent } from '@toolfabric/contract';
import { z } from 'zod';
import type { Database } from '../database.ts';
import { boundedAttributes, callView } from './call-view.ts';
import { fitTrace } from './fit-trace.ts';
import {
  ALIVE,
  CALL_COLUMNS,
  OWNED,
  type Owner,
  ownerParams,
  StoredCall,
  StoredEvent,
  StoredSpan,
} from './row-shapes.ts';

type Request = z.output<(typeof TRACE_RPC)['getTrace']['request']>;
export type TraceReply = z.output<(typeof TRACE_RPC)['getTrace']['reply']>;

const MOST_EVENTS = 200;
const MOST_SPANS = 200;
const MOST_PAYLOADS = 6;

const Times = z.object({ first_ms: z.number(), last_ms: z.number(), seen: z.number() });
interface Window {
  readonly first: number;
  readonly last: number;
}

const findCall = async (database: Database, actor: Owner, callId: string): Promise<StoredCall | undefined> => {
  const rows = await database.rows(
    StoredCall,
    `SELECT ${CALL_COLUMNS} FROM {db}.calls WHERE ${OWNED} AND ${ALIVE} AND call_id = {call:String}
     ORDER BY version DESC LIMIT 1`,
    { ...ownerParams(actor), call: callId },
  );
  return rows[0];
};

/** When anything about this call happened; keeps the other look-ups to the few parts of that time. */
const findWindow = async (database: Database, tenant: string, callId: string): Promise<Window | undefined> => {
  const rows = await database.rows(
    Times,
    `SELECT min(first_ms) AS first_ms, max(last_ms) AS last_ms, count() AS seen FROM {db}.trace_times
     WHERE tenant = {tenant:String} AND id = {call:String}`,
    { tenant, call: callId },
  );
  const times = rows[0];
  return times === undefined || times.seen === 0 ? undefined : { first: times.first_ms, last: times.last_ms };
};

const findEvents = (database: Database, actor: Owner, callId: string, window: Window): Promise<StoredEvent[]> =>
  database.rows(
    StoredEvent,
    `SELECT event_id, type, service, at, attributes, payloads.kind AS kinds, payloads.sha256 AS hashes,
       payloads.bytes AS sizes, payloads.cut AS cuts
     FROM {db}.events
     WHERE ${OWNED} AND ${ALIVE} AND call_id = {call:String}
       AND intDiv(at, 3600000) BETWEEN intDiv({first:Int64}, 3600000) AND intDiv({last:Int64}, 3600000)
       AND at BETWEEN {first:Int64} AND {last:Int64}
     ORDER BY at, event_id LIMIT 1 BY event_id LIMIT ${MOST_EVENTS + 1}`,
    { ...ownerParams(actor), call: callId, first: window.first, last: window.last },
  );

/** Spans say no owner: they are told by the call that they name, and only to whom that call belongs. */
const findSpans = (
  database: Database,
  tenant: string,
  callId: string,
  { first, last }: Window,
): Promise<StoredSpan[]> =>
  database.rows(
    StoredSpan,
    `SELECT trace_id, span_id, parent_span_id, name, kind, service, call_id, start_us, end_us, status, attributes
     FROM {db}.spans
     WHERE tenant = {tenant:String} AND ${ALIVE} AND call_id = {call:String}
       AND intDiv(start_us, 60000000) BETWEEN intDiv({first:Int64}, 60000) AND intDiv({last:Int64}, 60000)
     ORDER BY start_us, span_id LIMIT 1 BY span_id LIMIT ${MOST_SPANS + 1}`,
    { tenant, call: callId, first, last },
  );

const Text = z.object({ sha256: z.string(), text: z.string() });

const findPayloads = async (
  database: Database,
  tenant: string,
  events: readonly StoredEvent[],
): Promise<PayloadRecord[]> => {
  const named = events
    .flatMap(({ kinds, hashes, sizes, cuts }) =>
      hashes.map((sha256, at) => ({ kind: kinds[at], sha256, bytes: sizes[at] ?? 0, cut: cuts[at] ?? false })),
    )
    // The last ones: a call that was settled twice has a later result.
    .slice(-MOST_PAYLOADS);
  if (named.length === 0) return [];
  const rows = await database.rows(
    Text,
    `SELECT sha256, text FROM {db}.payloads
     WHERE tenant = {tenant:String} AND ${ALIVE} AND sha256 IN {hashes:Array(String)}
     ORDER BY sha256 LIMIT 1 BY sha256 LIMIT ${MOST_PAYLOADS}`,
    { tenant, hashes: [...new Set(named.map(({ sha256 }) => sha256))] },
  );
  const texts = new Map(rows.map(({ sha256, text }) => [sha256, text]));
  return named.flatMap(({ kind, sha256, bytes, cut }) => {
    const text = texts.get(sha256);
    const known = PayloadRecord.shape.kind.safeParse(kind);
    return text === undefined || !known.success ? [] : [{ kind: known.data, sha256, bytes, text, cut }];
  });
};

const eventView = ({ event_id, type, service, at, attributes }: StoredEvent): TraceEvent => ({
  id: event_id,
  type,
  service,
  at,
  attributes: boundedAttributes(attributes),
});

const spanView = (span: StoredSpan): SpanRecord => ({
  traceId: span.trace_id,
  spanId: span.span_id,
  ...(span.parent_span_id === '' ? {} : { parentSpanId: span.parent_span_id }),
  name: span.name,
  kind: span.kind,
  service: span.service,
  callId: span.call_id,
  startUs: span.start_us,
  endUs: span.end_us,
  status: span.status,
  attributes: boundedAttributes(span.attributes),
});

/**
 * Whether these events say whose call it is. The router alone tells what becomes of a call, and the gateway that it was
 * refused, each with its caller; who read an artifact of the call is the actor of that event, and no owner of the call.
 */
const proveOwner = (events: readonly StoredEvent[]): boolean => events.some(({ type }) => type.startsWith('call.'));

const NOTHING: TraceReply = { events: [], spans: [], payloads: [], cut: false };

/**
 * Everything that is stored about one call of the actor: nothing at all unless a row or an event says that it is
 * theirs. A call that has not ended has events and no row.
 */
export const getTrace = async (database: Database, { actor, callId }: Request): Promise<TraceReply> => {
  const call = await findCall(database, actor, callId);
  const window = await findWindow(database, actor.tenant, callId);
  const events = window === undefined ? [] : await findEvents(database, actor, callId, window);
  if (call === undefined && !proveOwner(events)) return NOTHING;
  const spans = window === undefined ? [] : await findSpans(database, actor.tenant, callId, window);
  const payloads = await findPayloads(database, actor.tenant, events);
  return fitTrace({
    ...(call === undefined ? {} : { call: callView(call) }),
    events: events.slice(0, MOST_EVENTS).map(eventView),
    spans: spans.slice(0, MOST_SPANS).map(spanView),
    payloads,
    cut: events.length > MOST_EVENTS || spans.length > MOST_SPANS,
  });
};
