import type { TraceCall } from '@toolfabric/contract';
import type { StoredCall } from './row-shapes.ts';

const MOST_TEXT = 1_000;
const MOST_ATTRIBUTES = 64;

/** Names and values of one answer, each bounded; empty ones say nothing. */
export const boundedAttributes = (attributes: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes)
      .filter(([, value]) => value !== '')
      .slice(0, MOST_ATTRIBUTES)
      .map(([name, value]) => [name.slice(0, 200), value.slice(0, MOST_TEXT)]),
  );

const number = (value: number): string => (value === 0 ? '' : String(value));
const flag = (value: boolean): string => (value ? 'true' : '');

/** What has a column but no field of its own in the answer. */
const others = (row: StoredCall): Record<string, string> => ({
  digest: row.tool_digest,
  kind: row.kind,
  handler: row.handler,
  risk: row.risk,
  errorLayer: row.error_layer,
  policyVersion: row.policy_version,
  modelCallId: row.model_call_id,
  model: row.model,
  catalogueDigest: row.catalogue_digest,
  repairs: row.repairs,
  argsHash: row.args_hash,
  resultBytes: number(row.result_bytes),
  truncatedTotal: number(row.truncated_total),
  exitCode: row.exit_code === null ? '' : String(row.exit_code),
  background: flag(row.background),
  takenOver: flag(row.taken_over),
  traceId: row.trace_id,
});

export const callView = (row: StoredCall): TraceCall => ({
  callId: row.call_id,
  taskId: row.task_id,
  user: row.user,
  agent: row.agent,
  tool: row.tool,
  version: row.tool_version,
  state: row.state,
  sideEffect: row.side_effect,
  errorType: row.error_type,
  rule: row.rule,
  attempt: row.attempt,
  acceptedAt: row.accepted_at,
  settledAt: row.settled_at,
  durationMs: row.duration_ms,
  truncated: row.truncated,
  artifacts: row.artifacts,
  turn: Math.max(0, row.turn),
  attributes: boundedAttributes({ ...others(row), ...row.attributes }),
});
