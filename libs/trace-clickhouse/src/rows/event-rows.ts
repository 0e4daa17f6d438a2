import type { FabricEvent } from '@toolfabric/contract';
import { callRow } from './call-row.ts';
import { callMoment, isCallId, type Json, stringAttributes, toSeconds } from './columns.ts';

export const TABLES = ['payloads', 'spans', 'tasks', 'events', 'calls'] as const;
export type TableName = (typeof TABLES)[number];

/** A call or a trace was alive at `ms` (milliseconds since the epoch); keeps the look-up by id to a few hours. */
export interface Moment {
  readonly tenant: string;
  readonly id: string;
  readonly ms: number;
  readonly expiresAt: number;
}

/** All rows that one event makes, as JSON text without a line end. */
export interface EventRows {
  readonly lines: Readonly<Record<TableName, readonly string[]>>;
  readonly moments: readonly Moment[];
  readonly bytes: number;
}

/** How many days the rows of a tenant are kept. */
export interface Retention {
  readonly days: number;
  readonly tenants: Readonly<Record<string, number>>;
}

const DAY_MS = 86_400_000;

export const expiryOf = (retention: Retention, tenant: string, at: number): number =>
  at + (Object.hasOwn(retention.tenants, tenant) ? (retention.tenants[tenant] ?? 0) : retention.days) * DAY_MS;

const LONE_SURROGATE = /\\ud[89a-f]/i;

/** The engine takes no lone surrogates; they are rare, so that only a row that may hold one is walked. */
const line = (row: Json): string => {
  const text = JSON.stringify(row);
  if (!LONE_SURROGATE.test(text)) return text;
  return JSON.stringify(row, (_key, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value));
};

const eventRow = (event: FabricEvent, expiresAt: number): Json => {
  const payloads = event.payloads ?? [];
  return {
    tenant: event.tenant,
    at: event.at,
    type: event.type,
    service: event.service,
    event_id: event.id,
    call_id: event.callId ?? '',
    task_id: event.taskId ?? '',
    user: event.actor?.user ?? '',
    agent: event.actor?.agent ?? '',
    attributes: stringAttributes(event.attributes),
    'payloads.kind': payloads.map(({ kind }) => kind),
    'payloads.sha256': payloads.map(({ sha256 }) => sha256),
    'payloads.bytes': payloads.map(({ bytes }) => bytes),
    'payloads.cut': payloads.map(({ cut }) => cut),
    expires_at: toSeconds(expiresAt),
  };
};

const spanRows = (event: FabricEvent, expiresAt: number): Json[] =>
  (event.spans ?? []).map((span) => ({
    tenant: event.tenant,
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId ?? '',
    name: span.name,
    kind: span.kind,
    service: span.service,
    call_id: span.callId ?? '',
    start_us: span.startUs,
    end_us: span.endUs,
    status: span.status,
    attributes: stringAttributes(span.attributes),
    expires_at: toSeconds(expiresAt),
  }));

const payloadRows = (event: FabricEvent, expiresAt: number): Json[] =>
  (event.payloads ?? []).map(({ sha256, text }) => ({
    tenant: event.tenant,
    sha256,
    text,
    expires_at: toSeconds(expiresAt),
  }));

const taskRows = (event: FabricEvent, expiresAt: number): Json[] => {
  if (event.taskId === undefined || (event.type !== 'task.created' && event.type !== 'task.ended')) return [];
  const ended = event.type === 'task.ended';
  return [
    {
      tenant: event.tenant,
      task_id: event.taskId,
      user: event.actor?.user ?? '',
      agent: event.actor?.agent ?? '',
      created_at: ended ? 0 : event.at,
      ended_at: ended ? event.at : 0,
      outcome: ended ? String(event.attributes['outcome'] ?? '') : '',
      expires_at: toSeconds(expiresAt),
    },
  ];
};

const momentsOf = (event: FabricEvent, expiresAt: number): Moment[] => {
  const { tenant } = event;
  const own = isCallId(event.callId) ? [{ tenant, id: event.callId, ms: event.at, expiresAt }] : [];
  const spans = (event.spans ?? []).flatMap(({ traceId, callId, startUs }) => {
    const ms = Math.floor(startUs / 1000);
    const trace = { tenant, id: traceId, ms, expiresAt };
    return isCallId(callId) ? [trace, { tenant, id: callId, ms, expiresAt }] : [trace];
  });
  return [...own, ...spans];
};

/** Pure: the same event always makes the same rows, so that a repeat replaces them. The event was checked before. */
export const rowsOf = (event: FabricEvent, retention: Retention): EventRows => {
  const expiresAt = expiryOf(retention, event.tenant, event.at);
  const call = callRow(event, expiresAt);
  const lines = {
    payloads: payloadRows(event, expiresAt).map(line),
    spans: spanRows(event, expiresAt).map(line),
    tasks: taskRows(event, expiresAt).map(line),
    // A batch of spans is no event of its own.
    events: event.type === 'trace.spans' ? [] : [line(eventRow(event, expiresAt))],
    calls: call === undefined ? [] : [line(call)],
  };
  const moments = [...momentsOf(event, expiresAt), ...callMoment(event, expiresAt)];
  const bytes = TABLES.flatMap((table) => lines[table]).reduce((sum, text) => sum + text.length + 1, 0);
  return { lines, moments, bytes };
};
