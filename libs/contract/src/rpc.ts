import { z } from 'zod';
import { Approver, BatchOutcome, MAX_BATCH, Reason } from './approvals.ts';
import { ArtifactId } from './artifact.ts';
import { CallLimits, TaskBudget, TaskConstraints, TaskMode } from './governance.ts';
import { Actor, Roles, ToolName, ToolVersion } from './identity.ts';
import { ApprovalRecord, CallState } from './records.ts';
import { ToolError, ToolResult } from './result.ts';
import { DeclaredCommand, printable, TaskOutcome, TaskRecord, TaskWidening, WorkspaceSource } from './task.ts';
import { LifeCycle, RiskGroup } from './tool-contract.ts';
import { Resolution, ResolutionEvidence, UnknownCall } from './unknown.ts';
import { Envelope } from './work.ts';

/**
 * What the gateway asks the router, on `rpc.router.<verb>`. The gateway has authenticated the actor; that only the
 * gateway can publish there is a matter of bus permissions.
 */
export const CallRequest = z.strictObject({
  actor: Actor,
  taskId: z.string(),
  /** UUIDv7 made by the caller's client: a retry carries the same one. */
  requestKey: z.string(),
  /** `name` or `name@version`. */
  tool: z.string().max(120),
  args: z.json(),
  /** Business identity of a write, for contracts that let the caller give it. */
  operationKey: z.string().max(200).optional(),
  /** Milliseconds from now in which the call must begin its effect; the contract's timeout when left out. */
  deadlineMs: z.int().min(1).max(86_400_000).optional(),
  /** What the caller wants of it at most; the least of this, task, policy and contract holds. */
  limits: CallLimits.optional(),
  priority: z.enum(['hi', 'lo']).default('hi'),
  turn: z.int().nonnegative().optional(),
  modelCallId: z.string().max(200).optional(),
  /** The model that proposes it, with its version. */
  model: z.string().max(200).optional(),
  /** Digest of the catalogue that the model saw. */
  catalogueDigest: z.string().max(80).optional(),
  /** The failed call that this one is a better try of. */
  repairs: z.string().max(80).optional(),
  /** Run it apart from the wait of its caller, for contracts that allow it. */
  background: z.boolean().optional(),
  /** Rights of the credential that asks. The gateway reads them out of it; no client can say them. */
  roles: Roles.optional(),
  traceparent: z.string().max(100).optional(),
});
export type CallRequest = z.infer<typeof CallRequest>;

/** `running` is derived; `refused` was never recorded. */
export const VisibleState = z.enum([...CallState.options, 'running', 'refused']);
export type VisibleState = z.infer<typeof VisibleState>;

/** What everybody outside sees of a call. */
export const CallView = z.strictObject({
  callId: z.string(),
  state: VisibleState,
  taskId: z.string(),
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  createdAt: z.int(),
  settledAt: z.int().optional(),
  /** While it waits for a person, and afterwards: what was asked. */
  approvalId: z.string().optional(),
  /** With `unknown`: the fabric is still finding out, so that waiting may bring a final answer. */
  reconciling: z.boolean().optional(),
  result: ToolResult.optional(),
});
export type CallView = z.infer<typeof CallView>;

/** States that do not change any more (`unknown` may still be settled, and is told to the waiting caller all the same). */
export const ANSWERED: ReadonlySet<VisibleState> = new Set([
  'ok',
  'error',
  'unknown',
  'denied',
  'expired',
  'cancelled',
  'dead_letter',
  'refused',
]);

/** Waiting longer brings nothing new: the call is answered, and nobody is finding out any more. */
export const isLastAnswer = (view: Pick<CallView, 'state' | 'reconciling'>): boolean =>
  ANSWERED.has(view.state) && view.reconciling !== true;

/** On core subject `settled.<tenant>.<callId>`, lossy. */
export const SettledNotice = z.strictObject({ actor: Actor, view: CallView });
export type SettledNotice = z.infer<typeof SettledNotice>;

/** On core subject `progress.<kind>.<tenant>.<callId>`, lossy. */
export const ProgressNotice = z.strictObject({
  callId: z.string(),
  seq: z.int(),
  message: z.string().max(1000),
  /** From 0 to 1, when it can be said. */
  fraction: z.number().min(0).max(1).optional(),
});
export type ProgressNotice = z.infer<typeof ProgressNotice>;

export const ToolSummary = z.strictObject({
  name: ToolName,
  version: ToolVersion,
  state: LifeCycle,
  description: z.string(),
  risk: z.string(),
  digest: z.string(),
  modelDigest: z.string(),
  /** Shown because its tenant wants to see it; no arguments could get it through. */
  denied: z.literal(true).optional(),
});
export type ToolSummary = z.infer<typeof ToolSummary>;

/** The model-facing part of a contract: what a model sees and nothing else. */
export const ModelTool = z.strictObject({
  name: ToolName,
  version: ToolVersion,
  capability: z.json(),
  input: z.json(),
  output: z.json(),
});
export type ModelTool = z.infer<typeof ModelTool>;

const ApprovalId = z.string().max(80);
const OwnCall = z.strictObject({ actor: Actor, callId: z.string().max(80) });

/** Request and reply of every verb. A reply is `{ok: …}` or `{error: …}`. */
export const RPC = {
  call: { request: CallRequest, reply: CallView },
  getCall: { request: OwnCall, reply: CallView },
  cancelCall: { request: OwnCall, reply: CallView },
  createTask: {
    request: z.strictObject({
      actor: Actor,
      requestKey: z.string(),
      title: printable(500),
      workspace: WorkspaceSource.optional(),
      testCommand: DeclaredCommand.omit({ sha256: true }).optional(),
      constraints: TaskConstraints.optional(),
      budget: TaskBudget.optional(),
      mode: TaskMode.optional(),
    }),
    reply: TaskRecord,
  },
  getTask: { request: z.strictObject({ actor: Actor, taskId: z.string().max(80) }), reply: TaskRecord },
  /** By a person with the right to, never by whoever the task works for. */
  widenTask: {
    request: z.strictObject({
      approver: Approver,
      taskId: z.string().max(80),
      writable: TaskWidening.shape.writable,
      hosts: TaskWidening.shape.hosts,
      note: TaskWidening.shape.note,
    }),
    reply: TaskRecord,
  },
  endTask: {
    request: z.strictObject({ actor: Actor, taskId: z.string().max(80), outcome: TaskOutcome }),
    reply: TaskRecord,
  },
  /**
   * A signed leave for the artifact store. By `artifactId` the store decides whether the actor may; by `callId` it is
   * the log of the actor's own call, in its present attempt.
   */
  permitArtifact: {
    request: z.strictObject({
      actor: Actor,
      action: z.enum(['read', 'manage', 'list']),
      artifactId: ArtifactId.optional(),
      callId: z.string().max(80).optional(),
    }),
    reply: z.strictObject({
      permit: Envelope,
      artifactId: ArtifactId.optional(),
      /** Whose log it is. */
      attempt: z.int().positive().optional(),
    }),
  },
  /**
   * What a person may look at: what they may decide, and what their own agents asked for. With `since` the newest of
   * what changed after that revision, whatever it is now; else what is pending, and with `decided` what was, too.
   */
  listApprovals: {
    request: z.strictObject({
      approver: Approver,
      decided: z.boolean().default(false),
      since: z.int().nonnegative().optional(),
      /** `next` of the page before. */
      after: z.string().max(80).optional(),
      limit: z.int().min(1).max(100).default(50),
    }),
    reply: z.strictObject({
      approvals: z.array(ApprovalRecord),
      /** Grows with every change. */
      revision: z.int(),
      next: z.string().optional(),
    }),
  },
  getApproval: { request: z.strictObject({ approver: Approver, approvalId: ApprovalId }), reply: ApprovalRecord },
  decideApproval: {
    request: z.strictObject({
      approver: Approver,
      approvalId: ApprovalId,
      verdict: z.enum(['grant', 'deny']),
      reason: Reason.optional(),
    }),
    reply: ApprovalRecord,
  },
  /** A person changes the arguments and approves: a new call of the one who asked, and the old one ends `denied`. */
  editApproval: {
    request: z.strictObject({
      approver: Approver,
      approvalId: ApprovalId,
      /** UUIDv7: the new call's, and the same for a retry. */
      requestKey: z.string().max(80),
      args: z.json(),
      reason: Reason.optional(),
    }),
    reply: z.strictObject({ approval: ApprovalRecord, replaced: ApprovalRecord, call: CallView }),
  },
  /** Grants all of them or none: within one scope, at one risk level, to be used until one moment. */
  decideBatch: {
    request: z.strictObject({
      approver: Approver,
      callIds: z.array(z.string().max(80)).min(1).max(MAX_BATCH),
      scope: z.string().min(1).max(500),
      risk: RiskGroup,
      /** Milliseconds since the epoch: what was not used by then has expired. */
      until: z.int(),
      reason: Reason.optional(),
    }),
    reply: z.strictObject({ batchId: z.string(), outcomes: z.array(BatchOutcome) }),
  },
  /** Calls whose outcome is not known: those of the tenant for who may resolve them, else those of one's own agents. */
  listUnknown: {
    request: z.strictObject({
      approver: Approver,
      /** `next` of the page before. */
      after: z.string().max(80).optional(),
      limit: z.int().min(1).max(100).default(50),
    }),
    reply: z.strictObject({ unknown: z.array(UnknownCall), next: z.string().optional() }),
  },
  getUnknown: { request: z.strictObject({ approver: Approver, callId: z.string().max(80) }), reply: UnknownCall },
  /** A person's move of the claim (protocol 5). The same resolution again gives the same answer. */
  resolveUnknown: {
    request: z.strictObject({
      approver: Approver,
      callId: z.string().max(80),
      resolution: Resolution,
      /** Needed for `happened`. */
      evidence: ResolutionEvidence.optional(),
      note: Reason.optional(),
    }),
    reply: CallView,
  },
  listTools: {
    /** One page: what comes after `after` (`name@version`), as much as fits into an answer. */
    request: z.strictObject({
      actor: Actor,
      allStates: z.boolean().default(false),
      after: z.string().max(120).optional(),
    }),
    reply: z.strictObject({ tools: z.array(ToolSummary), catalogueDigest: z.string(), next: z.string().optional() }),
  },
  describeTool: {
    request: z.strictObject({ actor: Actor, tool: z.string().max(120) }),
    reply: z.strictObject({ summary: ToolSummary, model: ModelTool }),
  },
  /** Stores a draft, or moves a version through its life cycle. */
  putDraft: {
    request: z.strictObject({ actor: Actor, rights: z.array(z.string()), contract: z.json() }),
    reply: ToolSummary,
  },
  moveTool: {
    request: z.strictObject({
      actor: Actor,
      rights: z.array(z.string()),
      name: ToolName,
      version: ToolVersion,
      to: z.enum(['published', 'deprecated', 'retired']),
    }),
    reply: ToolSummary,
  },
} as const;
export type RpcVerb = keyof typeof RPC;
export type RpcRequest<V extends RpcVerb> = z.input<(typeof RPC)[V]['request']>;
export type RpcReply<V extends RpcVerb> = z.output<(typeof RPC)[V]['reply']>;

export const RpcFailure = z.strictObject({ error: ToolError });
