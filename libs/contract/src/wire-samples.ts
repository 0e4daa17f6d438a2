import type { z } from 'zod';
import type * as contract from './index.ts';

/**
 * For tests: at least one value of every schema, as it goes over a wire. Each is whole: every optional field stands in
 * one of the samples of its schema.
 */
type Named = {
  [K in keyof typeof contract]: (typeof contract)[K] extends z.ZodType ? K : never;
}[keyof typeof contract];
type Sample = { [K in Named]: readonly [K, string, z.input<Extract<(typeof contract)[K], z.ZodType>>] }[Named];

const actor = { tenant: 'acme', user: 'ann@example.com', agent: 'coder' };
const callId = '2969-0123456789abcdefghjkmnpqrs';
const taskId = 't-0123456789abcdefghjkmnpqrs';
const sha = 'a'.repeat(64);
const tool = { name: 'workspace.edit_file', version: '1.0.0', digest: sha };
const workspace = { id: taskId, source: { type: 'clone' as const, path: '/srv/repositories/shop' } };
const limits = { timeoutMs: 10_000, outputBytes: 16_384 };
const decision = { policyVersion: 'default-1+0123456789ab', rule: 'default.allow.workspace_write', limits };
const args = { path: 'src/a.ts', old_text: 'a', new_text: 'b', expected_sha256: sha };
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const at = 1_795_780_800_000;

const error = {
  type: 'invalid_arguments' as const,
  layer: 'protocol' as const,
  message: 'the arguments do not fit',
  retryable: false,
  retryAfterMs: 500,
  hint: 'Correct each listed field.',
  fields: [{ field: '/path', expected: 'string', got: 'number 5', hint: 'Send text.' }],
};

const outcome = {
  status: 'ok' as const,
  summary: 'Edited src/a.ts.',
  data: { diff: '@@ -1 +1 @@\n-a\n+b\n', sha256: sha, nested: [1, null, true] },
  content: [{ type: 'text' as const, text: 'done' }],
  sideEffect: 'confirmed' as const,
  artifacts: ['artifact:1'],
  evidence: [{ kind: 'file', ref: 'src/a.ts', detail: sha }],
  truncation: [{ stream: 'stdout', kept: 10, total: 20, unit: 'lines' as const }],
  trust: 'untrusted' as const,
  origin: `workspace:${taskId}`,
  usage: { durationMs: 12.5, cpuMs: 3 },
};

const result = {
  ...outcome,
  callId,
  tool: { name: tool.name, version: tool.version },
  decision,
  attempt: 1,
};

const contractOf = {
  name: tool.name,
  version: '1.0.0',
  internal: false,
  toolset: 'workspace',
  capability: {
    intent: 'files.edit',
    description: 'Replaces an exact text in one file of the workspace.',
    use_when: ['A file of the workspace must change.'],
    not_for: ['Reading a file: use workspace.read_file.'],
    examples: [{ note: 'one word', arguments: args }],
  },
  input: { type: 'object', additionalProperties: false, properties: { path: { type: 'string' } }, required: ['path'] },
  execution: {
    adapter: 'cli' as const,
    mode: 'runtime_function' as const,
    handler: 'edit_file',
    isolation: 'namespace' as const,
    timeout_ms: 10_000,
    network: 'none' as const,
    credentials: [],
    pools: ['cli'],
    options: {},
  },
  output: {
    format: 'json' as const,
    schema: { type: 'object' },
    success_when: 'data.diff',
    error_when: 'data.error',
    budget_bytes: 16_384,
    budget_tokens: 4_000,
  },
  governance: {
    risk: 'workspace_write' as const,
    idempotent: false,
    claimless: false,
    operation_key: '{/path}',
    effect_scope: 'files',
    resource: 'workspace:{/path}',
    preview: 'edits {/path}',
    precondition: '/expected_sha256',
    reconcile: { by: 'probe' as const, fence: 'workspace_lock' as const, window_ms: 60_000 },
    max_calls_per_turn: 5,
    pii_allowed: true,
    retention_days: 30,
    redact: ['authorization'],
  },
};

const call = {
  callId,
  actor,
  taskId,
  tool,
  handler: 'edit_file',
  kind: 'cli',
  priority: 'hi' as const,
  effect: 'workspace' as const,
  claim: 'required' as const,
  rerunnable: false,
  args,
  argsHash: sha,
  workspace,
  decision,
  operation: sha,
  approvalId: 'a-1',
  reconcile: { fence: 'workspace_lock' as const, windowMs: 60_000 },
  epoch: 1,
  createdAt: at,
  deadline: at + 10_000,
  turn: 3,
  modelCallId: 'call_abc',
  traceparent,
};

const claim = { epoch: 1, sequence: 17, incarnation: 'w-1', nonce: 'n-1', cancelRequested: false };
const view = { callId, state: 'ok' as const, taskId, tool: result.tool, createdAt: at, settledAt: at + 20, result };
const task = { taskId, actor, title: 'Mend the build', workspace, state: 'open' as const, createdAt: at };

const work = {
  subject: 'work.cli.hi.acme',
  kind: 'cli',
  tenant: 'acme',
  callId,
  epoch: 1,
  mode: 'run' as const,
  actor,
  taskId,
  tool,
  handler: 'edit_file',
  effect: 'workspace' as const,
  claim: 'required' as const,
  rerunnable: false,
  args,
  argsHash: sha,
  workspace,
  decision,
  approvalDigest: sha,
  deadline: at + 10_000,
  expires: at + 60_000,
  traceparent,
};

export const WIRE_SAMPLES: readonly Sample[] = [
  ['Token', 'plain', 'cli-trusted_2'],
  ['CallId', 'plain', callId],
  ['CallId', 'probe', `${callId}.r12`],
  ['TaskId', 'plain', taskId],
  ['ToolName', 'plain', 'workspace.read_file'],
  ['ToolVersion', 'plain', '12.0.345'],
  ['Sha256', 'plain', sha],
  ['Actor', 'plain', actor],
  ['ToolRef', 'plain', tool],
  ['Layer', 'plain', 'sandbox'],
  ['RiskGroup', 'plain', 'external_write'],
  ['Effect', 'plain', 'outside'],
  ['Isolation', 'plain', 'gvisor'],
  ['Adapter', 'plain', 'mcp'],
  ['LifeCycle', 'plain', 'deprecated'],
  ['SideEffect', 'plain', 'possible'],
  ['ResultStatus', 'plain', 'unknown'],
  ['CallState', 'plain', 'awaiting_approval'],
  ['VisibleState', 'running', 'running'],
  ['ClaimState', 'plain', 'orphaned'],
  ['TaskOutcome', 'plain', 'abandoned'],
  ['FieldError', 'full', error.fields[0] as { field: string; expected: string }],
  ['ToolError', 'full', error],
  ['Evidence', 'full', outcome.evidence[0] as { kind: string; ref: string }],
  ['Truncation', 'defaults', { stream: 'data', kept: 1, total: 2 }],
  ['ContentBlock', 'text', { type: 'text', text: 'hello' }],
  ['ContentBlock', 'image', { type: 'image', mediaType: 'image/png', dataBase64: 'AA==' }],
  ['ContentBlock', 'audio', { type: 'audio', mediaType: 'audio/wav', dataBase64: 'AA==' }],
  ['ContentBlock', 'file', { type: 'file', name: 'log.txt', mediaType: 'text/plain', artifact: 'artifact:1' }],
  ['ContentBlock', 'citation', { type: 'citation', url: 'https://example.com', text: 'quoted' }],
  ['ContentBlock', 'resource-link', { type: 'resource_link', uri: 'file:///a', name: 'a' }],
  ['ContentBlock', 'resource', { type: 'resource', uri: 'file:///a', mediaType: 'text/plain', text: 'a' }],
  ['DecisionSummary', 'full', decision],
  ['Outcome', 'ok', outcome],
  ['Outcome', 'error', { status: 'error', summary: 'refused', error, sideEffect: 'none', trust: 'trusted' }],
  ['Outcome', 'unknown', { status: 'unknown', summary: 'no receipt', sideEffect: 'possible', trust: 'trusted' }],
  ['ToolResult', 'ok', result],
  ['ToolResult', 'denied', { ...result, status: 'denied', sideEffect: 'none', error, attempt: 0 }],
  ['ToolResult', 'needs-approval', { ...result, status: 'needs_approval', sideEffect: 'none', attempt: 0 }],
  ['WorkspaceSource', 'existing', { type: 'existing', path: '/home/ann/shop' }],
  ['WorkspaceSource', 'clone', workspace.source],
  ['WorkspaceSource', 'empty', { type: 'empty' }],
  ['WorkspaceRef', 'clone', workspace],
  ['TaskRecord', 'open', task],
  ['TaskRecord', 'preparing', { ...task, state: 'preparing' }],
  ['TaskRecord', 'ended', { ...task, state: 'ended', outcome: 'succeeded', endedAt: at + 90_000 }],
  ['Example', 'full', contractOf.capability.examples[0] as { arguments: typeof args }],
  ['Capability', 'full', contractOf.capability],
  ['Execution', 'full', contractOf.execution],
  ['Execution', 'defaults', { adapter: 'cli', handler: 'h', isolation: 'process', timeout_ms: 1000 }],
  ['Output', 'full', contractOf.output],
  ['Reconcile', 'full', contractOf.governance.reconcile],
  ['Governance', 'full', contractOf.governance],
  ['Governance', 'defaults', { risk: 'read', idempotent: true }],
  ['ToolContract', 'full', contractOf],
  [
    'RegistryRecord',
    'published',
    { contract: contractOf, state: 'published', digest: sha, modelDigest: sha, publishedAt: at },
  ],
  ['RegistryRecord', 'draft', { contract: contractOf, state: 'draft', digest: sha, modelDigest: sha }],
  ['Envelope', 'work', { type: 'toolfabric/work/1', kid: 'router-1', sig: 'AA', body: '{"a":1}' }],
  ['WorkBody', 'run', work],
  [
    'WorkBody',
    'probe',
    { ...work, callId: `${callId}.r1`, mode: 'probe', parentCallId: callId, intent: { sha256: sha } },
  ],
  ['ResultMessage', 'ok', { callId, tenant: 'acme', epoch: 1, outcome, by: 'w-1' }],
  ['DeadLetter', 'forged', { reason: 'signature', subject: work.subject, excerpt: 'AA==', sequence: 5, by: 'w-1', at }],
  ['CallRecord', 'accepted', { ...call, state: 'accepted' }],
  ['CallRecord', 'awaiting-approval', { ...call, state: 'awaiting_approval' }],
  ['CallRecord', 'queued', { ...call, state: 'queued', epoch: 2 }],
  ['CallRecord', 'joined', { ...call, state: 'joined' }],
  ['CallRecord', 'ok', { ...call, state: 'ok', settledAt: at + 20, result, late: [{ epoch: 1, status: 'ok' }] }],
  ['CallRecord', 'unknown', { ...call, state: 'unknown', probe: { asked: 2, nextAt: at + 5000 } }],
  ['OpenEntry', 'new', { callId, actor, openedAt: at }],
  ['OpenEntry', 'sent', { callId, actor, openedAt: at, sent: { epoch: 1, sequence: 17 } }],
  ['Claim', 'claimed', { ...claim, state: 'claimed' }],
  ['Claim', 'started', { ...claim, state: 'started', intent: { sha256: sha }, cancelRequested: true, doubt: true }],
  ['Claim', 'done', { ...claim, state: 'done', outcome }],
  ['Claim', 'cancelled', { ...claim, state: 'cancelled', reason: 'expired' }],
  ['Claim', 'released', { ...claim, state: 'released', epoch: 2 }],
  ['Claim', 'orphaned', { ...claim, state: 'orphaned', intent: null }],
  ['OperationRecord', 'held', { callId, tenant: 'acme', argsHash: sha, state: 'held', expiresAt: at }],
  [
    'ApprovalRecord',
    'granted',
    {
      approvalId: 'a-1',
      actor,
      toolDigest: sha,
      argsHash: sha,
      policyVersion: decision.policyVersion,
      state: 'granted',
      callId,
      expiresAt: at,
      approver: 'bob@example.com',
    },
  ],
  [
    'LifeSign',
    'alive',
    { incarnation: 'w-1', state: 'alive', beat: 9, slots: 4, handlers: ['a'], isolation: ['process'] },
  ],
  ['ShardLease', 'held', { holder: 'r-1', beat: 9 }],
  [
    'FabricEvent',
    'settled',
    {
      id: 'e-1',
      type: 'call.settled',
      service: 'router',
      tenant: 'acme',
      at,
      callId,
      taskId,
      attributes: { state: 'ok', epoch: 1, late: false },
    },
  ],
  [
    'CallRequest',
    'full',
    {
      actor,
      taskId,
      requestKey: '019e0000-0000-7000-8000-000000000000',
      tool: 'workspace.edit_file@1.0.0',
      args,
      operationKey: 'order-7',
      deadlineMs: 5000,
      priority: 'lo',
      turn: 3,
      modelCallId: 'call_abc',
      traceparent,
    },
  ],
  ['CallView', 'ok', view],
  ['CallView', 'unknown', { ...view, state: 'unknown', reconciling: true }],
  ['SettledNotice', 'ok', { actor, view }],
  ['ProgressNotice', 'half', { callId, seq: 1, message: 'half way', fraction: 0.5 }],
  [
    'ToolSummary',
    'published',
    {
      name: tool.name,
      version: '1.0.0',
      state: 'published',
      description: contractOf.capability.description,
      risk: 'workspace_write',
      digest: sha,
      modelDigest: sha,
    },
  ],
  [
    'ModelTool',
    'full',
    {
      name: tool.name,
      version: '1.0.0',
      capability: contractOf.capability,
      input: contractOf.input,
      output: contractOf.output,
    },
  ],
  ['RpcFailure', 'full', { error }],
];

const owned = { actor, callId };
const summary = WIRE_SAMPLES.find(([schema]) => schema === 'ToolSummary')?.[2];
const modelTool = WIRE_SAMPLES.find(([schema]) => schema === 'ModelTool')?.[2];
const fullCall = WIRE_SAMPLES.find(([schema]) => schema === 'CallRequest')?.[2];

/** One request and one reply of every verb. */
export const RPC_SAMPLES: Readonly<Record<string, { readonly request: unknown; readonly reply: unknown }>> = {
  call: { request: fullCall, reply: view },
  getCall: { request: owned, reply: view },
  cancelCall: { request: owned, reply: view },
  createTask: {
    request: { actor, requestKey: '019e0000-0000-7000-8000-000000000000', title: 'Mend', workspace: workspace.source },
    reply: task,
  },
  getTask: { request: { actor, taskId }, reply: task },
  endTask: { request: { actor, taskId, outcome: 'failed' }, reply: task },
  listTools: { request: { actor, allStates: true }, reply: { tools: [summary], catalogueDigest: sha } },
  describeTool: { request: { actor, tool: 'workspace.edit_file' }, reply: { summary, model: modelTool } },
  putDraft: { request: { actor, rights: ['publish'], contract: contractOf }, reply: summary },
  moveTool: {
    request: { actor, rights: ['publish'], name: tool.name, version: '1.0.0', to: 'retired' },
    reply: summary,
  },
};
