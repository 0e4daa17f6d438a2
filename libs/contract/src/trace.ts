import { z } from 'zod';
import { Actor, CallId, Token } from './identity.ts';

/** One span of a trace, as it goes over the bus. */
export const SpanRecord = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().max(200),
  kind: z.enum(['internal', 'server', 'client', 'producer', 'consumer']),
  service: z.string().max(80),
  callId: z.string().max(80).optional(),
  /** Microseconds since the epoch. */
  startUs: z.int(),
  endUs: z.int(),
  status: z.enum(['unset', 'ok', 'error']),
  /** Never arguments, results or file contents. */
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type SpanRecord = z.infer<typeof SpanRecord>;

/** Redacted text of arguments or of a result, stored apart from the rows that name it. */
export const PayloadRecord = z.strictObject({
  kind: z.enum(['arguments', 'result', 'policy_input']),
  /** SHA-256 of `text`. */
  sha256: z.string(),
  /** Bytes of the whole redacted JSON; `text` may hold less. */
  bytes: z.int().nonnegative(),
  text: z.string().max(40_000),
  cut: z.boolean(),
});
export type PayloadRecord = z.infer<typeof PayloadRecord>;

/** One row a call, as a trace tells it. Times are milliseconds since the epoch. */
export const TraceCall = z.strictObject({
  callId: z.string(),
  taskId: z.string(),
  user: z.string(),
  agent: z.string(),
  tool: z.string(),
  version: z.string(),
  state: z.string(),
  sideEffect: z.string(),
  errorType: z.string(),
  rule: z.string(),
  attempt: z.int(),
  acceptedAt: z.int(),
  settledAt: z.int(),
  durationMs: z.number(),
  truncated: z.boolean(),
  artifacts: z.int(),
  turn: z.int(),
  attributes: z.record(z.string(), z.string()),
});
export type TraceCall = z.infer<typeof TraceCall>;

export const TraceEvent = z.strictObject({
  id: z.string(),
  type: z.string(),
  service: z.string(),
  at: z.int(),
  attributes: z.record(z.string(), z.string()),
});
export type TraceEvent = z.infer<typeof TraceEvent>;

/** What one decision was made of: the redacted payload `policy_input`. */
export const TraceDecision = z.strictObject({
  callId: z.string(),
  /** Milliseconds since the epoch. */
  at: z.int(),
  text: z.string().max(40_000),
  cut: z.boolean(),
});
export type TraceDecision = z.infer<typeof TraceDecision>;

const Flag = z.boolean();

/** What the gateway asks the trace store, on `rpc.trace.<verb>`; only rows of the actor are ever answered, but for decisions. */
export const TRACE_RPC = {
  listCalls: {
    request: z.strictObject({
      actor: Actor,
      taskId: z.string().max(80).optional(),
      tool: z.string().max(120).optional(),
      state: z.string().max(40).optional(),
      errorType: z.string().max(60).optional(),
      truncated: Flag.optional(),
      /** Milliseconds since the epoch. */
      since: z.int().optional(),
      until: z.int().optional(),
      /** `<settledAt>,<callId>` of the last row of the page before. */
      after: z.string().max(120).optional(),
      limit: z.int().min(1).max(100).default(50),
    }),
    reply: z.strictObject({ calls: z.array(TraceCall), next: z.string().optional() }),
  },
  /** Of the whole tenant: the gateway asks it only for who has the right to. */
  listDecisions: {
    request: z.strictObject({
      tenant: Token,
      callId: CallId.optional(),
      /** Milliseconds since the epoch. */
      since: z.int().optional(),
      until: z.int().optional(),
      /** `<at>,<event>` of the last one of the page before. */
      after: z.string().max(220).optional(),
      limit: z.int().min(1).max(50).default(50),
    }),
    reply: z.strictObject({ decisions: z.array(TraceDecision).max(50), next: z.string().optional() }),
  },
  getTrace: {
    request: z.strictObject({ actor: Actor, callId: CallId }),
    reply: z.strictObject({
      call: TraceCall.optional(),
      events: z.array(TraceEvent).max(200),
      spans: z.array(SpanRecord).max(200),
      payloads: z.array(PayloadRecord).max(6),
      /** More events or spans than the answer holds. */
      cut: z.boolean(),
    }),
  },
} as const;
export type TraceVerb = keyof typeof TRACE_RPC;
