import { type ApprovalRecord, type CallRecord, CLOCK_LEEWAY_MS } from '@toolfabric/contract';

export type ApprovalVerdict = 'consume' | 'consumed' | 'pending' | 'denied' | 'expired' | 'other';

/** Expiry fails closed: the leeway is taken away from the approval, not added to it. */
export const isApprovalOver = ({ expiresAt }: Pick<ApprovalRecord, 'expiresAt'>, now: number): boolean =>
  now > expiresAt - CLOCK_LEEWAY_MS;

/**
 * An approval is a single-use capability over exact arguments (L4). `bound` is the digest of everything else that the
 * yes is bound to, made anew from the call as it is now.
 */
export const judgeApproval = (
  approval: ApprovalRecord,
  call: CallRecord,
  now: number,
  bound: string | undefined,
): ApprovalVerdict => {
  const isBound =
    approval.callId === call.callId &&
    approval.argsHash === call.argsHash &&
    approval.toolDigest === call.tool.digest &&
    approval.policyVersion === call.decision.policyVersion &&
    approval.actor.tenant === call.actor.tenant &&
    approval.actor.user === call.actor.user &&
    approval.actor.agent === call.actor.agent &&
    approval.boundSha256 === bound;
  if (!isBound) return 'other';
  if (approval.state === 'consumed') return 'consumed';
  if (approval.state === 'denied' || approval.state === 'expired') return approval.state;
  if (isApprovalOver(approval, now)) return 'expired';
  return approval.state === 'granted' ? 'consume' : 'pending';
};

type Decider = NonNullable<ApprovalRecord['decidedBy']>;

interface Answer {
  readonly by: Decider;
  readonly at: number;
  readonly reason?: string;
}

/** Every move of an approval; each is stored by compare-and-set, so that of two at once one wins. */
export type ApprovalMove =
  /** A strong one waits for a second person. */
  | ({ readonly type: 'first_yes' } & Answer)
  /** `until` is the end of the window of a batch. */
  | ({ readonly type: 'grant'; readonly batchId?: string; readonly until?: number } & Answer)
  | ({ readonly type: 'deny'; readonly replacedBy?: string } & Answer)
  /** Nobody answered in time, or there is nothing left to be approved. */
  | { readonly type: 'expire'; readonly at: number }
  | { readonly type: 'consume' }
  | { readonly type: 'told'; readonly state: ApprovalRecord['state'] };

const answered = (approval: ApprovalRecord, { by, at, reason }: Answer): ApprovalRecord => ({
  ...approval,
  approver: by.user,
  decidedAt: at,
  decidedBy: by,
  ...(reason === undefined ? {} : { reason }),
});

/** The approval after the move, or undefined where it does not apply any more. */
export const moveApproval = (approval: ApprovalRecord, move: ApprovalMove): ApprovalRecord | undefined => {
  const isPending = approval.state === 'pending';
  switch (move.type) {
    case 'first_yes': {
      const grants = approval.grants ?? [];
      if (!isPending || isApprovalOver(approval, move.at)) return undefined;
      if (grants.length >= 4 || grants.some(({ user }) => user === move.by.user)) return undefined;
      return { ...approval, grants: [...grants, { user: move.by.user, tokenId: move.by.tokenId, at: move.at }] };
    }
    case 'grant':
      if (!isPending || isApprovalOver(approval, move.at)) return undefined;
      return {
        ...answered(approval, move),
        state: 'granted',
        expiresAt: Math.min(approval.expiresAt, move.until ?? approval.expiresAt),
        ...(move.batchId === undefined ? {} : { batchId: move.batchId }),
      };
    case 'deny':
      if (!isPending) return undefined;
      return {
        ...answered(approval, move),
        state: 'denied',
        ...(move.replacedBy === undefined ? {} : { replacedBy: move.replacedBy }),
      };
    case 'expire':
      return isPending || approval.state === 'granted' ? { ...approval, state: 'expired' } : undefined;
    case 'consume':
      return approval.state === 'granted' ? { ...approval, state: 'consumed' } : undefined;
    case 'told':
      return approval.state === move.state && approval.told !== move.state
        ? { ...approval, told: move.state }
        : undefined;
  }
};
