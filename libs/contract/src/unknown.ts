import { z } from 'zod';
import { Reason } from './approvals.ts';
import { Actor } from './identity.ts';
import { ProbeAnswerName } from './records.ts';
import { Evidence } from './result.ts';
import { RiskGroup } from './tool-contract.ts';

/** What a person says about a call whose outcome is not known. */
export const Resolution = z.enum([
  /** The effect is there; there is evidence of it. */
  'happened',
  /** It is not there, and will not come any more. */
  'did_not_happen',
  /** It cannot be told either; nothing is asked any more, and nothing is run again. */
  'leave',
]);
export type Resolution = z.infer<typeof Resolution>;

/** What somebody who must find out is shown of a call. */
export const UnknownCall = z.strictObject({
  callId: z.string(),
  taskId: z.string(),
  actor: Actor,
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  risk: RiskGroup.optional(),
  /** Milliseconds since the epoch. */
  createdAt: z.int(),
  unknownAt: z.int(),
  epoch: z.int(),
  summary: z.string(),
  /** In words, or its arguments; control and bidirectional characters stand escaped in it. */
  what: z.string().max(8_192),
  resource: z.string().optional(),
  account: z.string().optional(),
  evidence: z.array(Evidence).optional(),
  /** The fabric is still asking the other side. */
  reconciling: z.boolean(),
  asked: z.int(),
  answered: ProbeAnswerName.optional(),
  /** A second attempt was made whose first may still take effect: only the other side keeps them one. */
  doubt: z.boolean(),
  /** Who looked already, and could not tell. */
  left: z.strictObject({ user: z.string(), at: z.int(), note: z.string().optional() }).optional(),
});
export type UnknownCall = z.infer<typeof UnknownCall>;

/** What proves that it happened: the id of the outside resource, an address, a commit. */
export const ResolutionEvidence = z.strictObject({
  kind: z.string().min(1).max(80),
  ref: z.string().min(1).max(500),
  detail: Reason.optional(),
});
export type ResolutionEvidence = z.infer<typeof ResolutionEvidence>;
