import type { Actor, FabricEvent, SpanRecord } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';

export const ADA: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';
const WEEK_MS = 604_800_000;

/** The n-th call id of this week. */
export const callIdOf = (n: number, now = Date.now()): string => {
  let rest = n;
  let hash = '';
  for (let place = 0; place < 26; place += 1) {
    hash = (LETTERS[rest % 32] ?? '0') + hash;
    rest = Math.floor(rest / 32);
  }
  return `${Math.floor(now / WEEK_MS)}-${hash}`;
};

const settled = (callId: string, at: number, more: FabricEvent['attributes'] = {}): FabricEvent['attributes'] => ({
  tool: 'workspace.read_file',
  version: '1.0.0',
  digest: sha256Hex('contract'),
  kind: 'cli',
  risk: 'read',
  state: 'ok',
  sideEffect: 'none',
  attempt: 1,
  error: '',
  errorLayer: '',
  durationMs: 40,
  acceptedAt: at - 40,
  settledAt: at,
  rule: 'risk:read',
  policyVersion: 'p1',
  turn: 2,
  modelCallId: `toolu_${callId.slice(-6)}`,
  model: 'model-4',
  catalogueDigest: sha256Hex('catalogue'),
  argsHash: sha256Hex(callId),
  resultBytes: 512,
  truncated: false,
  artifacts: 0,
  background: false,
  ...more,
});

export interface SampleOptions {
  readonly actor?: Actor;
  readonly at?: number;
  readonly id?: string;
  /** Everything else is an attribute. */
  readonly [attribute: string]: unknown;
}

export const settledEvent = (
  n: number,
  { actor = ADA, at = Date.now(), id, ...attributes }: SampleOptions = {},
): FabricEvent => {
  const callId = callIdOf(n);
  const given = settled(callId, at, attributes as FabricEvent['attributes']);
  return {
    id: id ?? `${callId}:settled.${given['state']}`,
    type: 'call.settled',
    service: 'router',
    tenant: actor.tenant,
    at,
    callId,
    taskId: 't-0123456789abcdefghjkmnpqrs',
    actor,
    attributes: given,
  };
};

export const plainEvent = (
  n: number,
  type: FabricEvent['type'],
  { actor = ADA, at = Date.now() }: { actor?: Actor; at?: number } = {},
): FabricEvent => ({
  id: `${callIdOf(n)}:${type}`,
  type,
  service: 'router',
  tenant: actor.tenant,
  at,
  callId: callIdOf(n),
  actor,
  attributes: {},
});

export const payloadEvent = (n: number, texts: { arguments: string; result: string }, actor = ADA): FabricEvent => ({
  ...plainEvent(n, 'call.payloads', { actor }),
  payloads: (['arguments', 'result'] as const).map((kind) => ({
    kind,
    sha256: sha256Hex(texts[kind]),
    bytes: Buffer.byteLength(texts[kind]),
    text: texts[kind],
    cut: false,
  })),
});

export const spanOf = (n: number, spanNumber: number, at = Date.now()): SpanRecord => ({
  traceId: n.toString(16).padStart(32, '0'),
  spanId: spanNumber.toString(16).padStart(16, '0'),
  name: `span ${spanNumber}`,
  kind: 'internal',
  service: 'router',
  callId: callIdOf(n),
  startUs: (at - 30) * 1000 + spanNumber,
  endUs: (at - 10) * 1000,
  status: 'ok',
  attributes: { 'gen_ai.tool.name': 'workspace.read_file', 'toolfabric.epoch': 1 },
});

export const spansEvent = (spans: SpanRecord[], tenant = ADA.tenant, service = 'router'): FabricEvent => ({
  id: `spans-${spans[0]?.traceId}-${spans[0]?.spanId}`,
  type: 'trace.spans',
  service,
  tenant,
  at: Date.now(),
  attributes: {},
  spans,
});
