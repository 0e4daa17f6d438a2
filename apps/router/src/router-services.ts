import type { CallFacts } from '@toolfabric/ports';
import type { ApprovalBook } from './approvals/approval-book.ts';
import type { WaitingApprovals } from './approvals/waiting-approvals.ts';
import type { BudgetDesk } from './budget/budget-desk.ts';
import type { FindCredential } from './credentials/acting-account.ts';
import type { RouterPolicy } from './policy/router-policy.ts';
import type { LiveRouters } from './quota/live-routers.ts';
import type { Quotas } from './quota/quotas.ts';
import type { Registry } from './registry.ts';
import type { RouterContext } from './router-context.ts';
import type { TaintBook } from './taint/taint-book.ts';
import type { TaskCache } from './task-cache.ts';
import type { LifeWatch } from './watch-lives.ts';

/** What the front verbs need beside the procedures: catalogue, policy, and who lives. */
export interface RouterServices {
  readonly ctx: RouterContext;
  readonly registry: Registry;
  readonly policy: RouterPolicy;
  readonly tasks: TaskCache;
  readonly taints: TaintBook;
  readonly budgets: BudgetDesk;
  readonly quotas: Quotas;
  /** Among how many the quotas are shared. */
  readonly routers: LiveRouters;
  readonly approvals: ApprovalBook;
  readonly waiting: WaitingApprovals;
  /** PO-11: whose account a handle means. */
  readonly credentials: FindCredential;
  readonly lives: ReadonlyMap<string, LifeWatch>;
  /** The greatest share of a record stream in use, as last seen; above a limit no call is accepted. */
  readonly fill: { share: number };
  /** Whether the executors serve more than one tenant. */
  readonly tenancy: 'single' | 'shared';
  /** What policies are told about where this is. */
  readonly environment: CallFacts['environment'];
}
