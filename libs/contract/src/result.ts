import { z } from 'zod';
import { ERROR_TYPES } from './error-table.ts';
import { ApprovalStrength } from './governance.ts';
import { Layer } from './layers.ts';
import { RiskGroup } from './tool-contract.ts';

/** One thing that does not fit, in a form that a model can repair from. */
export const FieldError = z.strictObject({
  /** JSON pointer into the arguments; empty for the whole. */
  field: z.string(),
  expected: z.string(),
  got: z.string().optional(),
  hint: z.string().optional(),
});
export type FieldError = z.infer<typeof FieldError>;

export const ToolError = z.strictObject({
  type: z.enum(ERROR_TYPES),
  layer: Layer,
  message: z.string().max(4096),
  retryable: z.boolean(),
  /** Milliseconds. */
  retryAfterMs: z.int().nonnegative().optional(),
  hint: z.string().max(1024).optional(),
  fields: z.array(FieldError).max(50).optional(),
});
export type ToolError = z.infer<typeof ToolError>;

/** What happened in the world. `confirmed` needs proof: a real diff or the id of the outside resource. */
export const SideEffect = z.enum(['none', 'possible', 'confirmed']);
export type SideEffect = z.infer<typeof SideEffect>;

export const ContentBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image'), mediaType: z.string(), dataBase64: z.string() }),
  z.strictObject({ type: z.literal('audio'), mediaType: z.string(), dataBase64: z.string() }),
  z.strictObject({ type: z.literal('file'), name: z.string(), mediaType: z.string(), artifact: z.string() }),
  z.strictObject({ type: z.literal('citation'), url: z.string(), text: z.string() }),
  z.strictObject({ type: z.literal('resource_link'), uri: z.string(), name: z.string().optional() }),
  z.strictObject({ type: z.literal('resource'), uri: z.string(), mediaType: z.string().optional(), text: z.string() }),
]);
export type ContentBlock = z.infer<typeof ContentBlock>;

/** Something that a person can check later: a path with its hash, a line in a file, the id of an outside resource. */
export const Evidence = z.strictObject({ kind: z.string(), ref: z.string(), detail: z.string().optional() });
export type Evidence = z.infer<typeof Evidence>;

/** `kept` and `total` are bytes, unless `unit` says otherwise. */
export const Truncation = z.strictObject({
  stream: z.string(),
  kept: z.int().nonnegative(),
  total: z.int().nonnegative(),
  unit: z.enum(['bytes', 'lines', 'items']).default('bytes'),
});
export type Truncation = z.infer<typeof Truncation>;

export const ResultStatus = z.enum(['ok', 'error', 'denied', 'needs_approval', 'unknown']);
export type ResultStatus = z.infer<typeof ResultStatus>;

/** What a worker reports: the part of a result that only the executor knows. */
export const Outcome = z.strictObject({
  status: z.enum(['ok', 'error', 'unknown']),
  summary: z.string().max(4096),
  data: z.json().optional(),
  content: z.array(ContentBlock).max(64).optional(),
  error: ToolError.optional(),
  sideEffect: SideEffect,
  artifacts: z.array(z.string()).max(64).optional(),
  evidence: z.array(Evidence).max(64).optional(),
  truncation: z.array(Truncation).max(16).optional(),
  trust: z.enum(['trusted', 'untrusted']),
  /** Where the content comes from, for example `workspace:t-…`. */
  origin: z.string().optional(),
  usage: z
    .strictObject({ durationMs: z.number().nonnegative(), cpuMs: z.number().nonnegative().optional() })
    .optional(),
});
export type Outcome = z.infer<typeof Outcome>;

export const DecisionSummary = z.strictObject({
  policyVersion: z.string(),
  rule: z.string(),
  /** Of this call: that of the contract, or what a rule has raised it to. */
  risk: RiskGroup.optional(),
  /** What raised the risk, by name. */
  raisedBy: z.array(z.string()).max(20).optional(),
  /** The yes of a person that was needed. */
  strength: ApprovalStrength.optional(),
  /** What is acted on, the whole before its part: `github:repo:shop/checkout`. */
  resource: z.string().max(500).optional(),
  /** Whose account acts outside. */
  account: z.string().max(200).optional(),
  limits: z.strictObject({
    /** Milliseconds that one execution may take. */
    timeoutMs: z.int().positive(),
    /** Bytes of `data` and `content` together. */
    outputBytes: z.int().positive(),
    /** Estimated tokens of `data` and `content` together. */
    outputTokens: z.int().positive().optional(),
  }),
});
export type DecisionSummary = z.infer<typeof DecisionSummary>;

/** The answer of the fabric to one call. */
export const ToolResult = z.strictObject({
  ...Outcome.shape,
  status: ResultStatus,
  callId: z.string(),
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  decision: DecisionSummary.optional(),
  /** The epoch whose execution gave this result; 0 when nothing was executed. */
  attempt: z.int().nonnegative(),
});
export type ToolResult = z.infer<typeof ToolResult>;
