import type { FabricEvent } from '@toolfabric/contract';
import {
  type Attributes,
  flag,
  isCallId,
  type Json,
  stringAttributes,
  text,
  toSeconds,
  weekOf,
  whole,
} from './columns.ts';

/** Attributes that have a column of their own; what is left goes into the map. */
const TYPED = new Set([
  'tool',
  'version',
  'digest',
  'kind',
  'handler',
  'risk',
  'state',
  'sideEffect',
  'attempt',
  'error',
  'errorLayer',
  'durationMs',
  'acceptedAt',
  'settledAt',
  'rule',
  'policyVersion',
  'turn',
  'modelCallId',
  'model',
  'catalogueDigest',
  'repairs',
  'argsHash',
  'resultBytes',
  'truncated',
  'truncatedTotal',
  'artifacts',
  'exitCode',
  'background',
  'takenOver',
  'traceId',
]);

const MOST = 4_294_967_295;
const SAFE = Number.MAX_SAFE_INTEGER;
/** Above every time in milliseconds. */
const RANK = 2 ** 48;

/**
 * Later ends win over earlier ones, and whatever order they come in: what was refused may be accepted by a repeat, and
 * `unknown` may still be settled.
 */
const versionOf = (state: string, settledAt: number): number => {
  const rank = state === 'refused' ? 0 : state === 'unknown' ? 1 : 2;
  return rank * RANK + Math.min(settledAt, RANK - 1);
};

const duration = (attributes: Attributes): number => {
  const value = attributes['durationMs'];
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0;
};

const exitCode = ({ exitCode: value }: Attributes): number | null =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : null;

/** The row of a call that has ended or was refused; undefined for every other event, and without an owner. */
export const callRow = (event: FabricEvent, expiresAt: number): Json | undefined => {
  const { type, callId, actor, attributes: given, at } = event;
  if ((type !== 'call.settled' && type !== 'call.refused') || !isCallId(callId) || actor === undefined)
    return undefined;
  const state = type === 'call.refused' ? 'refused' : text(given, 'state');
  const settledAt = whole(given, 'settledAt', SAFE, at);
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !TYPED.has(name)));
  return {
    tenant: event.tenant,
    user: actor.user,
    agent: actor.agent,
    call_id: callId,
    week: weekOf(callId),
    version: versionOf(state, settledAt),
    task_id: event.taskId ?? '',
    trace_id: text(given, 'traceId'),
    tool: text(given, 'tool'),
    tool_version: text(given, 'version'),
    tool_digest: text(given, 'digest'),
    kind: text(given, 'kind'),
    handler: text(given, 'handler'),
    risk: text(given, 'risk'),
    state,
    side_effect: type === 'call.refused' ? 'none' : text(given, 'sideEffect'),
    attempt: whole(given, 'attempt', MOST),
    error_type: text(given, 'error'),
    error_layer: text(given, 'errorLayer'),
    rule: text(given, 'rule'),
    policy_version: text(given, 'policyVersion'),
    accepted_at: whole(given, 'acceptedAt', SAFE, Math.max(0, settledAt - duration(given))),
    settled_at: settledAt,
    duration_ms: duration(given),
    turn: whole(given, 'turn', 2 ** 31 - 1, -1),
    model_call_id: text(given, 'modelCallId'),
    model: text(given, 'model'),
    catalogue_digest: text(given, 'catalogueDigest'),
    repairs: text(given, 'repairs'),
    args_hash: text(given, 'argsHash'),
    result_bytes: whole(given, 'resultBytes', SAFE),
    truncated: flag(given, 'truncated'),
    truncated_total: whole(given, 'truncatedTotal', SAFE),
    artifacts: whole(given, 'artifacts', MOST),
    exit_code: exitCode(given),
    background: flag(given, 'background'),
    taken_over: flag(given, 'takenOver'),
    attributes: stringAttributes(rest),
    expires_at: toSeconds(expiresAt),
  };
};
