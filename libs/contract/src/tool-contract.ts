import { z } from 'zod';
import { EgressBlock } from './egress.ts';
import { Token, ToolName, ToolVersion } from './identity.ts';

/** The five risk groups of the policy; the group gives the effect. */
export const RiskGroup = z.enum(['read', 'workspace_write', 'external_write', 'irreversible', 'privileged']);
export type RiskGroup = z.infer<typeof RiskGroup>;

/** What a contract may do: nothing, change its workspace, or change the world outside. */
export const Effect = z.enum(['none', 'workspace', 'outside']);
export type Effect = z.infer<typeof Effect>;

export const effectOf = (risk: RiskGroup): Effect =>
  risk === 'read' ? 'none' : risk === 'workspace_write' ? 'workspace' : 'outside';

/** Ordered: a level may be replaced by a later one, never by an earlier one. */
export const ISOLATION_LEVELS = ['process', 'namespace', 'container', 'gvisor', 'vm'] as const;
export const Isolation = z.enum(ISOLATION_LEVELS);
export type Isolation = z.infer<typeof Isolation>;

export const Adapter = z.enum(['cli', 'browser', 'sandbox', 'mcp', 'web', 'provider']);
export type Adapter = z.infer<typeof Adapter>;

const JsonObject = z.record(z.string(), z.json());

export const Example = z.strictObject({ note: z.string().optional(), arguments: JsonObject });

export const Capability = z.strictObject({
  intent: ToolName,
  description: z.string().min(20).max(4000),
  use_when: z.array(z.string().min(1)).min(1),
  not_for: z.array(z.string().min(1)).min(1),
  examples: z.array(Example).min(1).max(10),
});

export const Execution = z.strictObject({
  adapter: Adapter,
  mode: z.enum(['runtime_function', 'mcp_remote', 'provider_hosted']).default('runtime_function'),
  /** The name of the tool inside its worker; a swap of implementation changes this and nothing that a model sees. */
  handler: z.string().min(1),
  isolation: Isolation,
  /** Milliseconds. */
  timeout_ms: z.int().min(10).max(86_400_000),
  network: z.enum(['none', 'permit']).default('none'),
  credentials: z.array(z.string()).default([]),
  /** With `network: permit`: what the call may reach. */
  egress: EgressBlock.optional(),
  /** A call of it may run apart from its delivery, for as long as `timeout_ms`. */
  background: z.boolean().optional(),
  /** Names of pools that may run it; empty means the pool named like the adapter. */
  pools: z.array(Token).default([]),
  /** Block of the adapter, read by that worker alone. */
  options: JsonObject.default({}),
});

export const Output = z.strictObject({
  format: z.enum(['text', 'json', 'citations', 'file', 'image']),
  /** JSON Schema 2020-12 of `data`; an object. */
  schema: JsonObject.optional(),
  /** JMESPath over `{data, summary, content}` of an answer: where it is not true, the action failed. */
  success_when: z.string().optional(),
  /** The same: where it is true, the action failed. */
  error_when: z.string().optional(),
  budget_bytes: z.int().min(256).max(49_152),
  budget_tokens: z.int().min(64).optional(),
  /** Its calls may store artifacts: the full output, logs, files. */
  artifacts: z.boolean().optional(),
});

/** A question to the other side in the words of another tool, which reads only and runs in the same pool. */
export const ReconcileQuery = z.strictObject({
  /** `name@version`: what is asked never changes. */
  tool: z.string().regex(/^[a-z][a-z0-9_.]*@\d{1,5}\.\d{1,5}\.\d{1,5}$/, 'a tool with its version'),
  /** Its arguments; a text holds `{/json/pointer}` parts over the arguments of the call. */
  arguments: JsonObject,
  /** JMESPath over `{data, summary, content}` of its answer: the id of what was written; nothing while it is not found. */
  id: z.string().min(1).max(300),
  /** The same: where it is true and there is no id, it is proven that nothing was written up to now. */
  absent: z.string().min(1).max(300).optional(),
});
export type ReconcileQuery = z.infer<typeof ReconcileQuery>;

/** How an outcome that is not known is found out. */
export const Reconcile = z.strictObject({
  /** `probe`: the worker has a read-only probe beside the handler. `query`: another tool is asked. */
  by: z.enum(['probe', 'query']),
  query: ReconcileQuery.optional(),
  /** It also tells of actions whose operation is forgotten here: it is asked before a key runs for the first time. */
  history: z.boolean().optional(),
  /** What makes a second run safe after the probe found nothing. */
  fence: z.enum(['none', 'workspace_lock', 'dedupe', 'egress']).default('none'),
  /** Milliseconds for which the probe is repeated before a person is asked. */
  window_ms: z.int().min(0).default(86_400_000),
});

export const Governance = z.strictObject({
  risk: RiskGroup,
  idempotent: z.boolean(),
  /** A read may run without a claim; see the ledger protocol, claims. */
  claimless: z.boolean().default(false),
  /** Template of `{/json/pointer}` parts over the arguments; the business identity of a write. */
  operation_key: z.string().optional(),
  /** What the operation key is unique in; the intent when left out. */
  effect_scope: z.string().optional(),
  /** Days for which an operation is remembered; 30 when left out. */
  operation_days: z.int().min(1).max(3650).optional(),
  resource: z.string().optional(),
  preview: z.string().optional(),
  /** JSON pointer of the argument that carries the expected version or hash. */
  precondition: z.string().optional(),
  reconcile: Reconcile.optional(),
  max_calls_per_turn: z.int().min(1).optional(),
  /** What makes a call of it more dangerous than `risk` says. */
  raise: z
    .array(
      z.strictObject({
        /** Stands in decisions and traces. */
        name: z.string().regex(/^[a-z][a-z0-9_]{0,62}$/, 'lower-case letters, digits and "_"'),
        /** JMESPath over the arguments; true raises. */
        when: z.string().min(1).max(1_000),
        to: RiskGroup,
      }),
    )
    .max(20)
    .optional(),
  /** JSON pointers of arguments that hold paths of the workspace which the call may write. */
  writes: z.array(z.string().max(200)).max(20).optional(),
  /** JSON pointers of arguments that hold addresses or host names which the call may reach. */
  hosts: z.array(z.string().max(200)).max(20).optional(),
  /** JSON pointers of arguments that name files of the workspace which the call runs or sends; an approval binds them. */
  executes: z.array(z.string().max(200)).max(20).optional(),
  /** Units of the budget of a task that one call takes; 1 when left out. */
  cost: z.int().min(0).max(1_000_000).optional(),
  pii_allowed: z.boolean().default(true),
  /** Days. */
  retention_days: z.int().min(1).max(3650).default(30),
  redact: z.array(z.string()).default([]),
});

/** The versioned record of a tool. A model sees `capability`, `input` and `output` only. */
export const ToolContract = z.strictObject({
  name: ToolName,
  version: ToolVersion,
  /** Internal tools are called by the fabric itself; they are not listed and not callable from outside. */
  internal: z.boolean().default(false),
  toolset: Token,
  capability: Capability,
  /** JSON Schema 2020-12 of the arguments; an object that allows no other fields. */
  input: JsonObject,
  execution: Execution,
  output: Output,
  governance: Governance,
});
export type ToolContract = z.infer<typeof ToolContract>;

export const LifeCycle = z.enum(['draft', 'published', 'deprecated', 'retired']);
export type LifeCycle = z.infer<typeof LifeCycle>;

/** A contract as the registry stores it. */
export const RegistryRecord = z.strictObject({
  contract: ToolContract,
  state: LifeCycle,
  /** SHA-256 over the canonical whole contract. */
  digest: z.string(),
  /** SHA-256 over what a model sees. */
  modelDigest: z.string(),
  publishedAt: z.int().optional(),
});
export type RegistryRecord = z.infer<typeof RegistryRecord>;
