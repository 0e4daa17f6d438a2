import { z } from 'zod';
import { Actor } from './identity.ts';

/** Approvals that one yes may be about. */
export const MAX_BATCH = 100;
/** The longest window of a batch, in milliseconds. */
export const MAX_BATCH_WINDOW_MS = 3_600_000;
/** An authentication counts as fresh for so long, in milliseconds. */
export const FRESH_MS = 300_000;
/** Characters of a preview. */
export const MAX_PREVIEW = 16_384;

/** A person who answers, as the gateway authenticated them. */
export const Approver = z.strictObject({
  ...Actor.shape,
  tokenId: z.string().min(1).max(200),
  rights: z.array(z.string().max(64)).max(64),
  /** Milliseconds since the epoch: when they proved last who they are. A token of the fabric never says it. */
  freshAt: z.int().optional(),
});
export type Approver = z.infer<typeof Approver>;

export const ApprovalState = z.enum(['pending', 'granted', 'denied', 'expired', 'consumed']);
export type ApprovalState = z.infer<typeof ApprovalState>;

/** One line that a person wrote: printable, and short. */
export const Reason = z
  .string()
  .max(1_000)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'no control characters');

/** What became of one member of a batch. */
export const BatchOutcome = z.strictObject({
  callId: z.string(),
  approvalId: z.string(),
  state: ApprovalState,
});
export type BatchOutcome = z.infer<typeof BatchOutcome>;
