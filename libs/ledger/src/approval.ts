import { type ApprovalRecord, type CallRecord, CLOCK_LEEWAY_MS } from '@toolfabric/contract';

export type ApprovalVerdict = 'consume' | 'consumed' | 'pending' | 'denied' | 'expired' | 'other';

/**
 * An approval is a single-use capability over exact arguments (L4). Expiry fails closed: the leeway is taken away
 * from the approval, not added to it.
 */
export const judgeApproval = (approval: ApprovalRecord, call: CallRecord, now: number): ApprovalVerdict => {
  const bound =
    approval.callId === call.callId &&
    approval.argsHash === call.argsHash &&
    approval.toolDigest === call.tool.digest &&
    approval.policyVersion === call.decision.policyVersion &&
    approval.actor.tenant === call.actor.tenant;
  if (!bound) return 'other';
  if (approval.state === 'consumed') return 'consumed';
  if (approval.state === 'denied' || approval.state === 'expired') return approval.state;
  if (now > approval.expiresAt - CLOCK_LEEWAY_MS) return 'expired';
  return approval.state === 'granted' ? 'consume' : 'pending';
};
