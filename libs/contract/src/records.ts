import { z } from 'zod';
import { ApprovalState, MAX_PREVIEW } from './approvals.ts';
import { ApprovalStrength, BoundFile, CallLimits } from './governance.ts';
import { Actor, Roles, ToolRef } from './identity.ts';
import { DecisionSummary, Outcome, ToolResult } from './result.ts';
import { DeclaredCommand, WorkspaceRef } from './task.ts';
import { Effect, RiskGroup } from './tool-contract.ts';

/** States of a call as they are stored. `running` is derived from the claim and never stored. */
export const CallState = z.enum([
  'accepted',
  'awaiting_approval',
  'queued',
  'joined',
  'ok',
  'error',
  'unknown',
  'denied',
  'expired',
  'cancelled',
  'dead_letter',
]);
export type CallState = z.infer<typeof CallState>;

/**
 * What a question about an unknown outcome was answered with. `absent`: nothing was written up to now, which is proven.
 * `not_visible`: nothing was found, which proves nothing. `failed`: the question itself got no answer.
 */
export const ProbeAnswerName = z.enum(['absent', 'not_visible', 'failed']);
export type ProbeAnswerName = z.infer<typeof ProbeAnswerName>;

export const CallRecord = z.strictObject({
  callId: z.string(),
  actor: Actor,
  taskId: z.string(),
  tool: ToolRef,
  handler: z.string(),
  kind: z.string(),
  priority: z.enum(['hi', 'lo']),
  effect: Effect,
  /** Of its contract when it was accepted; `effect` follows from it. */
  risk: RiskGroup.optional(),
  claim: z.enum(['none', 'required']),
  rerunnable: z.boolean(),
  args: z.record(z.string(), z.json()),
  argsHash: z.string(),
  workspace: WorkspaceRef.optional(),
  decision: DecisionSummary,
  /** Key of the operation record, for a call that has one. */
  operation: z.string().optional(),
  approvalId: z.string().optional(),
  /** Milliseconds for which its operation is remembered; 30 days when left out. */
  operationMs: z.int().optional(),
  reconcile: z
    .strictObject({
      fence: z.enum(['none', 'workspace_lock', 'dedupe', 'egress']),
      windowMs: z.int(),
      /** The tool that is asked; the probe of its own when left out. */
      query: ToolRef.optional(),
    })
    .optional(),
  /** Whether the other side must be asked about its key before it runs (protocol 4), or was. */
  history: z.enum(['ask', 'clear']).optional(),
  state: CallState,
  epoch: z.int().positive(),
  /** Milliseconds since the epoch. */
  createdAt: z.int(),
  deadline: z.int(),
  settledAt: z.int().optional(),
  result: ToolResult.optional(),
  /** While somebody finds out: how often was asked, when it is next, and what was answered last. */
  probe: z
    .strictObject({
      asked: z.int(),
      nextAt: z.int(),
      last: ProbeAnswerName.optional(),
      /** Protocol 7 (b): every way out of that epoch was seen closed before question `from` was sent. */
      fenced: z.strictObject({ epoch: z.int(), from: z.int() }).optional(),
    })
    .optional(),
  /** Milliseconds since the epoch: since when it is unknown, or when it was last before it was found out. */
  unknownAt: z.int().optional(),
  /** Unknown, and the window of its probe is over: a person must say; nothing is run again. */
  left: z.boolean().optional(),
  /** Results that came when nothing could be changed any more. */
  late: z
    .array(z.strictObject({ epoch: z.int(), status: z.string() }))
    .max(8)
    .optional(),
  turn: z.int().nonnegative().optional(),
  modelCallId: z.string().max(200).optional(),
  /** The model that proposed it, with its version. */
  model: z.string().max(200).optional(),
  /** Digest of the catalogue that the model saw. */
  catalogueDigest: z.string().max(80).optional(),
  /** The failed call that this one is a better try of. */
  repairs: z.string().max(80).optional(),
  /** The call whose place it took, when a person changed the arguments. */
  replaces: z.string().max(80).optional(),
  /** Runs apart from its delivery (protocol 9). */
  background: z.boolean().optional(),
  /** Pin slot that its work message of the present epoch went to. */
  pin: z.string().optional(),
  /** Milliseconds since the epoch: its present epoch begins then, since the one before failed for a reason that passes. */
  notBefore: z.int().optional(),
  /** Number of the policy that decided it; a later one decides again (protocol 6). */
  watermark: z.int().nonnegative().optional(),
  /** What its caller wants of it at most. */
  limits: CallLimits.optional(),
  /** Rights of the credential that asked, for whatever is decided about it again. */
  roles: Roles.optional(),
  /** It waited while the policy changed, and was decided again. */
  decidedAgain: z.boolean().optional(),
  testCommand: DeclaredCommand.optional(),
  /** SHA-256 over the canonical JSON of what a shell text among the arguments means. */
  analysis: z.string().optional(),
  /** Globs of the task, for a tool that writes files. */
  writable: z.array(z.string()).optional(),
  /** Its executions may go out: with the hosts that its task forbids. */
  egress: z.strictObject({ except: z.array(z.string()).optional() }).optional(),
  traceparent: z.string().optional(),
});
export type CallRecord = z.infer<typeof CallRecord>;

/** What keeps a call in sight until it is closed. */
export const OpenEntry = z.strictObject({
  callId: z.string(),
  actor: Actor,
  openedAt: z.int(),
  /** Stream sequence of the work message and the epoch that it carries, once stored. */
  sent: z
    .strictObject({
      epoch: z.int(),
      sequence: z.int(),
      /** The pin slot that it was sent to; none for a message that any worker of the kind may take. */
      pin: z.string().optional(),
      /** Number of the policy under which it was sent, where a later one had decided again. */
      watermark: z.int().optional(),
    })
    .optional(),
});
export type OpenEntry = z.infer<typeof OpenEntry>;

export const ClaimState = z.enum(['claimed', 'started', 'done', 'cancelled', 'released', 'orphaned']);
export type ClaimState = z.infer<typeof ClaimState>;

/** The record of one execution; an absent one counts as `released` at epoch 1. */
export const Claim = z.strictObject({
  state: ClaimState,
  epoch: z.int().positive(),
  /** Stream sequence of the delivery that took it. */
  sequence: z.int().nonnegative(),
  incarnation: z.string(),
  /** Made by the holder for this one claim: only who knows it may go on. */
  nonce: z.string(),
  cancelRequested: z.boolean(),
  /** Why the router ended it, for `cancelled`. */
  reason: z.enum(['cancelled', 'expired', 'dead_letter']).optional(),
  /** What the holder is about to do, stored with `started`; the probe gets it. */
  intent: z.json().optional(),
  outcome: Outcome.optional(),
  /**
   * This epoch runs because the other side deduplicates, not because the one before is over: that one may still take
   * effect, so an end without an effect proves nothing.
   */
  doubt: z.boolean().optional(),
  /** Who told its outcome in the place of its tool: then it is not what the tool promised to answer. */
  toldBy: z.enum(['person', 'query']).optional(),
});
export type Claim = z.infer<typeof Claim>;

export const OperationRecord = z.strictObject({
  callId: z.string(),
  tenant: z.string(),
  argsHash: z.string(),
  state: z.enum(['held', 'done', 'free']),
  /** Milliseconds since the epoch. */
  expiresAt: z.int(),
});
export type OperationRecord = z.infer<typeof OperationRecord>;

/** An unknown call in sight of people; kept until it is known. */
export const UnknownEntry = z.strictObject({
  callId: z.string(),
  actor: Actor,
  /** Milliseconds since the epoch. */
  since: z.int(),
  /** A person looked, and could not tell either. */
  left: z.strictObject({ user: z.string(), at: z.int(), note: z.string().max(1_000).optional() }).optional(),
});
export type UnknownEntry = z.infer<typeof UnknownEntry>;

export const ApprovalRecord = z.strictObject({
  approvalId: z.string(),
  actor: Actor,
  toolDigest: z.string(),
  argsHash: z.string(),
  policyVersion: z.string(),
  state: ApprovalState,
  callId: z.string(),
  expiresAt: z.int(),
  approver: z.string().optional(),
  taskId: z.string().optional(),
  tool: z.strictObject({ name: z.string(), version: z.string() }).optional(),
  rule: z.string().optional(),
  risk: RiskGroup.optional(),
  strength: ApprovalStrength.optional(),
  /** What a person is shown: control and bidirectional characters stand escaped in it. */
  preview: z.string().max(MAX_PREVIEW).optional(),
  /** The preview shows all of it; what it cannot show whole needs a strong approval. */
  whole: z.boolean().optional(),
  account: z.string().max(200).optional(),
  resource: z.string().max(500).optional(),
  /** What would run, as it was when the question was put. */
  files: z.array(BoundFile).max(200).optional(),
  /** SHA-256 over everything else that the yes is bound to: working directory, environment, preview. */
  boundSha256: z.string().optional(),
  createdAt: z.int().optional(),
  decidedAt: z.int().optional(),
  /** Who decided, how they proved who they are, and what they said. */
  decidedBy: z
    .strictObject({
      user: z.string().max(200),
      tokenId: z.string().max(200),
      /** Milliseconds since the epoch of their last authentication; with fresh authentication. */
      freshAt: z.int().optional(),
    })
    .optional(),
  /** The first yes of a strong approval, while a second person is waited for. */
  grants: z
    .array(z.strictObject({ user: z.string().max(200), tokenId: z.string().max(200), at: z.int() }))
    .max(4)
    .optional(),
  reason: z.string().max(1_000).optional(),
  /** The state that was told to the webhook last. */
  told: ApprovalState.optional(),
  /** The yes of several calls at once that this one belongs to. */
  batchId: z.string().optional(),
  /** The call that took its place when a person changed the arguments. */
  replacedBy: z.string().optional(),
});
export type ApprovalRecord = z.infer<typeof ApprovalRecord>;

/** What people outside see of an approval. */
export const ApprovalView = z.strictObject({
  ...ApprovalRecord.pick({
    approvalId: true,
    state: true,
    callId: true,
    actor: true,
    policyVersion: true,
    argsHash: true,
    toolDigest: true,
    expiresAt: true,
    resource: true,
    account: true,
    decidedAt: true,
    reason: true,
    batchId: true,
    replacedBy: true,
  }).shape,
  taskId: z.string(),
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  risk: z.string(),
  strength: ApprovalStrength,
  rule: z.string(),
  preview: z.string(),
  whole: z.boolean(),
  files: z.array(BoundFile),
  createdAt: z.int(),
  decidedBy: z.string().optional(),
  /** Who has said yes to a strong one, while a second person is waited for. */
  grantedBy: z.array(z.string()),
});
export type ApprovalView = z.infer<typeof ApprovalView>;

export const LifeSign = z.strictObject({
  incarnation: z.string(),
  state: z.enum(['alive', 'dead', 'drained']),
  /** Counts up with each renewal, so that a renewal always changes the value. */
  beat: z.int(),
  slots: z.int(),
  handlers: z.array(z.string()),
  isolation: z.array(z.string()),
  /** The pin slot that it holds. */
  pin: z.string().optional(),
  /** Where its workspaces lie: with `own` another worker needs their snapshots. */
  storage: z.enum(['own', 'shared']).optional(),
  /** It has a way out: calls with a network may go there. */
  egress: z.boolean().optional(),
});
export type LifeSign = z.infer<typeof LifeSign>;

/** Who holds a pin slot of a kind; kept beside the life signs, so that the kind's workers may take it. */
export const PinLease = z.strictObject({ holder: z.string(), since: z.int() });
export type PinLease = z.infer<typeof PinLease>;

export const ShardLease = z.strictObject({ holder: z.string(), beat: z.int() });
export type ShardLease = z.infer<typeof ShardLease>;
