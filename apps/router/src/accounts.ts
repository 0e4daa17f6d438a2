import type { QuotaConfig } from '@toolfabric/governance';
import { isAnswered } from '@toolfabric/ledger';
import type { ApprovalBook } from './approvals/approval-book.ts';
import { WaitingApprovals } from './approvals/waiting-approvals.ts';
import { BudgetDesk } from './budget/budget-desk.ts';
import { readCall } from './change-call.ts';
import { LiveRouters } from './quota/live-routers.ts';
import { Quotas } from './quota/quotas.ts';
import type { RouterContext } from './router-context.ts';
import { TaintBook } from './taint/taint-book.ts';

/** What this router keeps account of: taint, budgets, quotas, and among how many the quotas are shared. */
export const accountsOf = (ctx: RouterContext, config: QuotaConfig, book: ApprovalBook) => {
  const { ports, clock } = ctx;
  const routers = new LiveRouters(ctx);
  const isOver = async (tenant: string, callId: string): Promise<boolean> => {
    const call = await readCall(ctx, tenant, callId);
    return call === undefined || isAnswered(call.value.state);
  };
  return {
    taints: new TaintBook(ports.taints, clock),
    budgets: new BudgetDesk(ports.uses, clock),
    routers,
    approvals: book,
    waiting: new WaitingApprovals({ book, config, clock, share: () => routers.share }),
    quotas: new Quotas({ config, clock, share: () => routers.share, isOver }),
  };
};
