import type { CallRecord, TaskRecord, ToolContract } from '@toolfabric/contract';
import { type BudgetDenial, budgetError, wallDenial } from '@toolfabric/governance';
import { FabricError, requestKeyTime } from '@toolfabric/kernel';
import { isAnswered } from '@toolfabric/ledger';
import { readCall } from '../change-call.ts';
import type { RouterContext } from '../router-context.ts';
import type { BudgetAnswer, BudgetAsk, BudgetDesk } from './budget-desk.ts';

export interface BudgetParts {
  readonly ctx: RouterContext;
  readonly budgets: BudgetDesk;
}

export interface BudgetProposal {
  readonly record: CallRecord;
  readonly task: TaskRecord;
  readonly contract: ToolContract;
  readonly requestKey: string;
  /** The call that ends when this one begins, whose place in a serial task is its own until `takePlace`. */
  readonly inPlaceOf?: string | undefined;
}

/** What one call is told to do while another one of its serial task is under way, in milliseconds. */
const SERIAL_RETRY_MS = 500;
/** Rounds of asking: a place may change hands in between. */
const MOST_ROUNDS = 4;

const denied = (ctx: RouterContext, call: CallRecord, denial: BudgetDenial): FabricError => {
  const { limit, used, most } = denial;
  ctx.ports.events.emit({
    id: `${call.callId}:budget.denied`,
    type: 'budget.denied',
    service: 'router',
    tenant: call.actor.tenant,
    at: ctx.clock.now(),
    callId: call.callId,
    taskId: call.taskId,
    actor: call.actor,
    attributes: { tool: call.tool.name, limit, used, most, ...(call.turn === undefined ? {} : { turn: call.turn }) },
  });
  return budgetError(denial);
};

const askOf = ({ record, task, contract, requestKey, inPlaceOf }: BudgetProposal): BudgetAsk => ({
  tenant: record.actor.tenant,
  taskId: task.taskId,
  budget: task.budget ?? {},
  serial: task.mode === 'serial',
  ...(inPlaceOf === undefined ? {} : { inPlaceOf }),
  want: {
    callId: record.callId,
    keyTime: requestKeyTime(requestKey, record.createdAt),
    tool: contract.name,
    turn: record.turn,
    cost: contract.governance.cost ?? 1,
    callsPerTurn: contract.governance.max_calls_per_turn,
  },
});

/** A call that never got a record within the grace never will: whoever comes late finds that the place was taken. */
const isOver = async ({ ctx }: BudgetParts, tenant: string, { callId, at }: { callId: string; at: number }) => {
  const call = await readCall(ctx, tenant, callId);
  return call ? isAnswered(call.value.state) : ctx.clock.now() > at + ctx.pace.openGraceMs;
};

const busy = (): FabricError =>
  new FabricError('serial_task', 'another call of this task is under way', { retryAfterMs: SERIAL_RETRY_MS });

/** Whether a call needs a record of what its task has used: the others cost nothing here. */
const needsRecord = ({ task, contract }: BudgetProposal): boolean =>
  Object.keys(task.budget ?? {}).some((limit) => limit !== 'wallMs') ||
  task.mode === 'serial' ||
  contract.governance.max_calls_per_turn !== undefined;

const settled = async (parts: BudgetParts, { record }: BudgetProposal, ask: BudgetAsk): Promise<void> => {
  let [next, answer]: [BudgetAsk, BudgetAnswer] = [ask, await parts.budgets.take(ask)];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    if (answer.type === 'taken' || answer.type === 'had') return;
    if (answer.type === 'denied') throw denied(parts.ctx, record, answer.denial);
    if (answer.type === 'busy') {
      if (!(await isOver(parts, ask.tenant, answer))) throw busy();
      next = { ...next, over: answer.callId };
    } else {
      if (await readCall(parts.ctx, ask.tenant, record.callId)) return;
      next = { ...next, isNew: true };
    }
    answer = await parts.budgets.take(next);
  }
  throw busy();
};

/**
 * The last check before a call is accepted (protocol 3): its share of the budget of its task, taken once by its id.
 * Throws `budget_exceeded` or `serial_task`.
 */
export const takeBudget = async (parts: BudgetParts, proposal: BudgetProposal): Promise<void> => {
  const { ctx } = parts;
  const denial = wallDenial(proposal.task, ctx.clock.now());
  if (denial) throw denied(ctx, proposal.record, denial);
  if (needsRecord(proposal)) await settled(parts, proposal, askOf(proposal));
};

/** In a serial task, once the call that it replaces can never run: the place goes over. Throws `serial_task`. */
export const takePlace = async (parts: BudgetParts, { inPlaceOf, ...proposal }: BudgetProposal): Promise<void> => {
  if (proposal.task.mode !== 'serial' || inPlaceOf === undefined) return;
  await settled(parts, proposal, { ...askOf(proposal), over: inPlaceOf });
};

/** After the acceptance of a call of a serial task: the place is still its own. Throws `serial_task`. */
export const confirmPlace = async ({ budgets }: BudgetParts, { record, task }: BudgetProposal): Promise<void> => {
  if (task.mode !== 'serial') return;
  if (!(await budgets.holdsPlace(record.actor.tenant, task.taskId, record.callId))) throw busy();
};
