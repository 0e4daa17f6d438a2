import { z } from 'zod';
import type { QueryParams } from '../database.ts';

/** Who asks: every query is bound by all three. */
export interface Owner {
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
}

export const OWNED = 'tenant = {tenant:String} AND user = {user:String} AND agent = {agent:String}';
/** Expired rows are gone for the asker at once, however long the merge that drops them takes. */
export const ALIVE = 'expires_at > now()';

export const ownerParams = ({ tenant, user, agent }: Owner): QueryParams => ({ tenant, user, agent });

const Attributes = z.record(z.string(), z.string());

export const CALL_COLUMNS = `call_id, version, task_id, user, agent, tool, tool_version, tool_digest, kind, handler, risk, state,
  side_effect, attempt, error_type, error_layer, rule, policy_version, accepted_at, settled_at, duration_ms, turn,
  model_call_id, model, catalogue_digest, repairs, args_hash, result_bytes, truncated, truncated_total, artifacts,
  exit_code, background, taken_over, trace_id, attributes`;

export const StoredCall = z.object({
  call_id: z.string(),
  version: z.number(),
  task_id: z.string(),
  user: z.string(),
  agent: z.string(),
  tool: z.string(),
  tool_version: z.string(),
  tool_digest: z.string(),
  kind: z.string(),
  handler: z.string(),
  risk: z.string(),
  state: z.string(),
  side_effect: z.string(),
  attempt: z.number(),
  error_type: z.string(),
  error_layer: z.string(),
  rule: z.string(),
  policy_version: z.string(),
  accepted_at: z.number(),
  settled_at: z.number(),
  duration_ms: z.number(),
  turn: z.number(),
  model_call_id: z.string(),
  model: z.string(),
  catalogue_digest: z.string(),
  repairs: z.string(),
  args_hash: z.string(),
  result_bytes: z.number(),
  truncated: z.boolean(),
  truncated_total: z.number(),
  artifacts: z.number(),
  exit_code: z.number().nullable(),
  background: z.boolean(),
  taken_over: z.boolean(),
  trace_id: z.string(),
  attributes: Attributes,
});
export type StoredCall = z.infer<typeof StoredCall>;

export const StoredEvent = z.object({
  event_id: z.string(),
  type: z.string(),
  service: z.string(),
  at: z.number(),
  attributes: Attributes,
  kinds: z.array(z.string()),
  hashes: z.array(z.string()),
  sizes: z.array(z.number()),
  cuts: z.array(z.boolean()),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

export const StoredSpan = z.object({
  trace_id: z.string(),
  span_id: z.string(),
  parent_span_id: z.string(),
  name: z.string(),
  kind: z.enum(['internal', 'server', 'client', 'producer', 'consumer']),
  service: z.string(),
  call_id: z.string(),
  start_us: z.number(),
  end_us: z.number(),
  status: z.enum(['unset', 'ok', 'error']),
  attributes: Attributes,
});
export type StoredSpan = z.infer<typeof StoredSpan>;
