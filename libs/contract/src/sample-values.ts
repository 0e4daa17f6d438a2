/** For tests: what the samples of the wire are made of. */

export const actor = { tenant: 'acme', user: 'ann@example.com', agent: 'coder' };
export const callId = '2969-0123456789abcdefghjkmnpqrs';
export const taskId = 't-0123456789abcdefghjkmnpqrs';
export const sha = 'a'.repeat(64);
export const tool = { name: 'workspace.edit_file', version: '1.0.0', digest: sha };
export const workspace = { id: taskId, source: { type: 'clone' as const, path: '/srv/repositories/shop' } };
export const limits = { timeoutMs: 10_000, outputBytes: 16_384, outputTokens: 4_000 };
export const decision = { policyVersion: 'default-1+0123456789ab', rule: 'default.allow.workspace_write', limits };
export const raised = {
  ...decision,
  risk: 'irreversible' as const,
  raisedBy: ['installs_dependencies'],
  strength: 'strong' as const,
  resource: 'github:repo:shop/checkout',
  account: 'shop-bot',
};
export const constraints = { writable: ['src/**'], forbiddenHosts: ['*.example.com'], confirm: ['git.push'] };
export const callLimits = { timeoutMs: 2_000, outputBytes: 4_096, outputTokens: 500 };
export const widening = {
  by: 'grace',
  at: 1_795_780_900_000,
  writable: ['docs/**'],
  hosts: ['api.example.com'],
  note: 'for the report',
};
export const budget = { rounds: 20, callsPerTurn: 8, callsPerToolPerTurn: 4, wallMs: 3_600_000, spend: 500 };
export const args = { path: 'src/a.ts', old_text: 'a', new_text: 'b', expected_sha256: sha };
export const artifactId = 'a-0123456789abcdefghjkmnpqrs';
export const testCommand = { argv: ['node', '--test'], cwd: 'packages/shop', sha256: sha };
export const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
export const at = 1_795_780_800_000;

export const error = {
  type: 'invalid_arguments' as const,
  layer: 'protocol' as const,
  message: 'the arguments do not fit',
  retryable: false,
  retryAfterMs: 500,
  hint: 'Correct each listed field.',
  fields: [{ field: '/path', expected: 'string', got: 'number 5', hint: 'Send text.' }],
};

export const outcome = {
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

export const result = {
  ...outcome,
  callId,
  tool: { name: tool.name, version: tool.version },
  decision,
  attempt: 1,
};

export const reconcileQuery = {
  tool: 'issue.comments@1.0.0',
  arguments: { number: '{/number}', key: 'k {/key}' },
  id: 'data.comments[0].id',
  absent: 'data.complete',
};
export const proof = { kind: 'comment', ref: 'c17', detail: 'issue 4821' };
export const unknownCall = {
  callId,
  taskId,
  actor,
  tool: { name: 'issue.comment', version: '1.0.0' },
  risk: 'external_write' as const,
  createdAt: at,
  unknownAt: at + 20,
  epoch: 1,
  summary: 'The worker was lost.',
  what: 'ann@example.com, through the agent coder, wants to: comment',
  resource: 'github:repo:shop/checkout',
  account: 'shop-bot',
  evidence: [proof],
  reconciling: true,
  asked: 3,
  answered: 'not_visible' as const,
  doubt: false,
  left: { user: 'grace', at: at + 60_000, note: 'no access' },
};

export const contractOf = {
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
    background: true,
  },
  output: {
    format: 'json' as const,
    schema: { type: 'object' },
    success_when: 'data.diff',
    error_when: 'data.error',
    budget_bytes: 16_384,
    budget_tokens: 4_000,
    artifacts: true,
  },
  governance: {
    risk: 'workspace_write' as const,
    idempotent: false,
    claimless: false,
    operation_key: '{/path}',
    effect_scope: 'files',
    operation_days: 30,
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

export const call = {
  callId,
  actor,
  taskId,
  tool,
  handler: 'edit_file',
  kind: 'cli',
  priority: 'hi' as const,
  effect: 'workspace' as const,
  risk: 'workspace_write' as const,
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
  model: 'gpt-9@2026-11-01',
  catalogueDigest: sha,
  repairs: callId,
  background: true,
  pin: 'p3',
  testCommand,
  traceparent,
};

export const claim = { epoch: 1, sequence: 17, incarnation: 'w-1', nonce: 'n-1', cancelRequested: false };
export const view = {
  callId,
  state: 'ok' as const,
  taskId,
  tool: result.tool,
  createdAt: at,
  settledAt: at + 20,
  result,
};
export const task = { taskId, actor, title: 'Mend the build', workspace, state: 'open' as const, createdAt: at };

export const permit = { type: 'toolfabric/artifact-permit/1', kid: 'router-1', sig: 'AA', body: '{"action":"list"}' };
export const artifact = {
  id: artifactId,
  owner: actor,
  taskId,
  callId,
  name: 'log',
  mediaType: 'text/plain',
  size: 10,
  sha256: sha,
  state: 'complete' as const,
  dropped: 90,
  gapAt: 10,
  trust: 'untrusted' as const,
  pinned: false,
  sharedWith: [{ user: 'bob@example.com', agent: 'reviewer' }],
  createdAt: at,
  expiresAt: at + 86_400_000,
};
export const span = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentSpanId: '00f067aa0ba902b7',
  name: 'execute_tool workspace.edit_file',
  kind: 'internal' as const,
  service: 'worker-cli',
  callId,
  startUs: at * 1000,
  endUs: at * 1000 + 12_500,
  status: 'ok' as const,
  attributes: { 'gen_ai.tool.name': 'workspace.edit_file', epoch: 1, retried: false },
};
export const payload = { kind: 'arguments' as const, sha256: sha, bytes: 20, text: '{"path":"src/a.ts"}', cut: false };
export const traceCall = {
  callId,
  taskId,
  user: actor.user,
  agent: actor.agent,
  tool: tool.name,
  version: '1.0.0',
  state: 'ok',
  sideEffect: 'confirmed',
  errorType: '',
  rule: 'default.allow.workspace_write',
  attempt: 1,
  acceptedAt: at,
  settledAt: at + 20,
  durationMs: 20,
  truncated: false,
  artifacts: 1,
  turn: 3,
  attributes: { model: 'gpt-9@2026-11-01' },
};
export const traceEvent = { id: 'e-1', type: 'call.settled', service: 'router', at, attributes: { state: 'ok' } };

export const work = {
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
  background: true,
  testCommand,
  redact: ['authorization'],
  permit,
  approvalDigest: sha,
  deadline: at + 10_000,
  expires: at + 60_000,
  traceparent,
};

export const approver = {
  tenant: 'acme',
  user: 'bob@example.com',
  agent: 'toolfabric-cli',
  tokenId: 'bob',
  rights: ['approvals:decide:github:repo:shop', 'approvals:strong'],
  freshAt: at,
};
export const approval = {
  approvalId: 'a-3',
  actor,
  toolDigest: sha,
  argsHash: sha,
  policyVersion: decision.policyVersion,
  state: 'pending' as const,
  callId,
  expiresAt: at + 600_000,
  grants: [{ user: 'bob@example.com', tokenId: 'bob', at }],
  told: 'pending' as const,
};
export const batched = { callId, approvalId: 'a-3', state: 'granted' as const };

export const egressRule = {
  host: '*.tracker.example.com',
  scheme: 'https' as const,
  ports: [443, 8443],
  methods: ['GET', 'POST'],
  paths: ['/api/v1'],
  addresses: ['10.1.0.0/16', 'fd00:1::/64'],
  credential: 'user:tracker',
  keys: [sha],
};
export const egressPermit = {
  kind: 'web',
  actor,
  taskId,
  callId,
  epoch: 1,
  rules: [egressRule],
  except: ['*.example.org'],
  maxBytes: 5_000_000,
  maxConnections: 8,
  expires: at + 60_000,
};
export const egressBlock = {
  rules: [egressRule],
  from_arguments: {
    schemes: ['https' as const, 'http' as const],
    ports: [443],
    methods: ['GET'],
    paths: ['/'],
    addresses: ['10.1.0.0/16'],
  },
  max_bytes: 5_000_000,
  max_connections: 8,
};
export const httpOperation = {
  base: 'https://tracker.example.com/api/v1',
  method: 'POST' as const,
  path: '/issues/{number}/comments',
  query: [{ name: 'label', argument: 'labels', list: 'repeat' as const }],
  headers: [{ name: 'x-project', argument: 'project' }],
  body: { fields: ['body', 'key'] },
  success: [200, 201],
  refusals: [404, 422],
  precondition: { header: 'if-match' as const, argument: 'etag' },
  key_header: 'idempotency-key',
  show: ['x-rate-limit'],
  id: '/id',
};
export const searchOptions = {
  providers: [
    { kind: 'local' as const, timeout_ms: 8_000 },
    { kind: 'brave' as const, name: 'web', base: 'https://api.search.brave.com', timeout_ms: 5_000 },
    { kind: 'tavily' as const, base: 'https://api.tavily.com', timeout_ms: 8_000 },
  ],
  groups: { papers: ['arxiv.org', '*.example.edu'] },
};
