import { type ApprovalRecord, MAX_BATCH, MAX_BATCH_WINDOW_MS, type RiskGroup } from '@toolfabric/contract';
import { isInScope } from './scope-of.ts';

export interface Batch {
  readonly callIds: readonly string[];
  readonly scope: string;
  readonly risk: RiskGroup;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** What is wrong with a batch before any approval is looked at. */
export const batchProblem = ({ callIds, risk, until }: Batch, now: number): string | undefined => {
  if (risk === 'irreversible' || risk === 'privileged') return `${risk} actions are approved one by one`;
  if (callIds.length > MAX_BATCH) return `a batch holds at most ${MAX_BATCH} calls`;
  if (new Set(callIds).size !== callIds.length) return 'a call stands in it twice';
  if (until <= now) return 'its window is over';
  if (until > now + MAX_BATCH_WINDOW_MS) return `its window is at most ${MAX_BATCH_WINDOW_MS / 60_000} minutes`;
  return undefined;
};

/** PO-5: why this approval does not belong into the batch. */
export const memberProblem = (approval: ApprovalRecord, { scope, risk }: Batch): string | undefined => {
  if (approval.risk !== risk) return `its risk is ${approval.risk ?? 'not known'} and not ${risk}`;
  if (approval.strength === 'strong') return 'it needs a strong approval, which no batch can give';
  if (!isInScope(approval.resource, scope))
    return `it is about ${approval.resource ?? 'no resource'}, not within ${scope}`;
  return undefined;
};
