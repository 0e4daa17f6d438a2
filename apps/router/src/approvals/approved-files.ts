import type { BoundFile, CallRecord, ToolContract } from '@toolfabric/contract';
import { approvalKey } from '@toolfabric/ledger';
import type { RouterContext } from '../router-context.ts';

/**
 * The files that the yes for this call is bound to, for its executor to look at once more. Nothing where the approval is
 * gone: then nobody can tell, and the call is not sent.
 */
export const approvedFiles = async (
  ctx: RouterContext,
  { actor, approvalId }: CallRecord,
  { governance }: ToolContract,
): Promise<readonly BoundFile[] | undefined> => {
  if (approvalId === undefined || (governance.executes ?? []).length === 0) return [];
  const approval = (await ctx.ports.approvals.get(approvalKey(actor.tenant, approvalId)))?.value;
  if (approval === undefined) ctx.log.warn('approval.gone', { approvalId });
  return approval && (approval.files ?? []);
};
