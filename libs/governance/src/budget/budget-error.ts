import type { TaskBudget } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { BudgetDenial, BudgetLimit } from './task-use.ts';

const NAMES: Readonly<Record<BudgetLimit, string>> = {
  rounds: 'rounds of the task',
  calls_per_turn: 'calls in this turn',
  calls_per_tool_per_turn: 'calls of this tool in this turn',
  wall: 'milliseconds of the task',
  spend: 'units of the task',
  turn: 'turns',
};

const textOf = ({ limit, used, most, renews }: BudgetDenial): string => {
  if (limit === 'turn') return `turn ${used} is over, since later ones have begun; go on in the present turn`;
  const when = renews === 'next_turn' ? 'it renews with the next turn' : 'it does not renew';
  return `${NAMES[limit]}: ${used} of ${most} are used (limit ${limit}); ${when}`;
};

export const budgetError = (denial: BudgetDenial): FabricError => new FabricError('budget_exceeded', textOf(denial));

interface Timed {
  readonly createdAt: number;
  readonly budget?: TaskBudget | undefined;
}

/** When nothing of the task may begin any more, in milliseconds since the epoch. */
export const wallEnd = ({ createdAt, budget }: Timed): number =>
  budget?.wallMs === undefined ? Number.POSITIVE_INFINITY : createdAt + budget.wallMs;

/** The look at the budget that needs no record. */
export const wallDenial = (task: Timed, now: number): BudgetDenial | undefined =>
  now < wallEnd(task)
    ? undefined
    : { limit: 'wall', used: now - task.createdAt, most: task.budget?.wallMs ?? 0, renews: 'never' };
