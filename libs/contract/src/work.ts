import { z } from 'zod';
import { BoundFile } from './governance.ts';
import { Actor, Token, ToolRef } from './identity.ts';
import { DecisionSummary, Outcome } from './result.ts';
import { DeclaredCommand, WorkspaceRef } from './task.ts';
import { Effect } from './tool-contract.ts';

/** A signed message: `sig` is Ed25519 (base64url) over `<type tag>\n<body>`; `body` is JSON text, verified before it is parsed. */
export const Envelope = z.strictObject({ type: z.string(), kid: z.string(), sig: z.string(), body: z.string() });
export type Envelope = z.infer<typeof Envelope>;

/** What a bell begins with that tells the number of the policy, which holds from then on. */
export const POLICY_BELL = 'policy:';

export const WORK_TYPE = 'toolfabric/work/1';

/** The body of a work message. What the signature covers is all of it. */
export const WorkBody = z.strictObject({
  /** The subject that it was signed for; another one makes it void. */
  subject: z.string(),
  kind: Token,
  tenant: Token,
  callId: z.string(),
  epoch: z.int().positive(),
  /** `probe` asks whether an earlier execution of `parentCallId` took effect; it changes nothing. */
  mode: z.enum(['run', 'probe']),
  parentCallId: z.string().optional(),
  /** What the parent's worker stored when it began its effect. */
  intent: z.json().optional(),
  actor: Actor,
  taskId: z.string(),
  tool: ToolRef,
  handler: z.string(),
  /** `execution.options` of the contract. */
  options: z.record(z.string(), z.json()).optional(),
  effect: Effect,
  /** `none` is a claimless read. */
  claim: z.enum(['none', 'required']),
  /** A workspace effect that may be run again after its worker died without knowing how far it came. */
  rerunnable: z.boolean(),
  args: z.record(z.string(), z.json()),
  argsHash: z.string(),
  workspace: WorkspaceRef.optional(),
  decision: DecisionSummary,
  /** Number of the policy that decided it: a worker that knows of a later one hands the message back. */
  watermark: z.int().nonnegative().optional(),
  /** Acknowledged once it is claimed, and then run on the life of its worker (protocol 9). */
  background: z.boolean().optional(),
  testCommand: DeclaredCommand.optional(),
  /** Globs of the task: nothing else of the workspace may be written. Everything when left out. */
  writable: z.array(z.string()).optional(),
  /** Names of redaction rules of the contract. */
  redact: z.array(z.string()).optional(),
  /** Leave to store what the call brings forth: a signed `ArtifactPermit`. */
  permit: Envelope.optional(),
  /** Leave to go out: a signed `EgressPermit`. */
  egress: Envelope.optional(),
  approvalDigest: z.string().optional(),
  /** Files of the workspace that a person's yes is bound to; `absent` stands for the hash of one that was not there. */
  boundFiles: z.array(BoundFile).max(20).optional(),
  /** Of what a shell text among the arguments means; a worker that reads it differently runs nothing. */
  analysis: z.string().optional(),
  /** Key of the operation of the call, the same in every attempt: what the other side may be given to know it again. */
  operation: z.string().optional(),
  /** Milliseconds since the epoch: the end of the call. */
  deadline: z.int(),
  /** Milliseconds since the epoch: after it the signature is stale. */
  expires: z.int(),
  traceparent: z.string().optional(),
});
export type WorkBody = z.infer<typeof WorkBody>;

/** What stands on a result subject. */
export const ResultMessage = z.strictObject({
  callId: z.string(),
  tenant: Token,
  epoch: z.int().positive(),
  outcome: Outcome,
  /** Who wrote it: the incarnation of a worker, or `router`. */
  by: z.string(),
});
export type ResultMessage = z.infer<typeof ResultMessage>;

/** A message that a worker refused to run, with the reason. */
export const DeadLetter = z.strictObject({
  reason: z.string(),
  subject: z.string(),
  /** At most 4 KiB of the message, base64. */
  excerpt: z.string(),
  sequence: z.int(),
  by: z.string(),
  at: z.int(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;
