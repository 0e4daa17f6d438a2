import type { ApprovalRecord } from '@toolfabric/contract';
import { type ApprovalVerdict, type DeniedOutcome, errorOutcome } from '@toolfabric/ledger';

/** The end of a call that a person did not let through, or whose approval is of no use any more. Nothing was run. */
export const refusedOutcome = (
  verdict: ApprovalVerdict,
  approval: ApprovalRecord | undefined,
): DeniedOutcome | ReturnType<typeof errorOutcome> => {
  const { replacedBy, reason } = approval ?? {};
  if (verdict === 'denied' && replacedBy !== undefined) {
    const outcome = errorOutcome(
      'approval_denied',
      `A person changed the arguments: call ${replacedBy} took its place.`,
    );
    return { ...outcome, status: 'denied', evidence: [{ kind: 'call', ref: replacedBy }] };
  }
  if (verdict === 'denied') {
    const message = reason === undefined || reason === '' ? undefined : `A person denied this action: ${reason}`;
    return { ...errorOutcome('approval_denied', message), status: 'denied' };
  }
  if (verdict === 'other') return { ...errorOutcome('approval_changed'), status: 'denied' };
  return errorOutcome('approval_expired');
};
