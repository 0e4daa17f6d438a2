import { MOST_OPEN_TURNS, MOST_TAKEN_IDS, type TaskBudget, type TaskUse } from '@toolfabric/contract';

/** A call without a turn belongs to this one, which is never over. */
export const NO_TURN = -1;
/** Tools that are counted apart in one turn. */
const MOST_TOOLS = 400;

/** What one call takes. */
export interface BudgetWant {
  readonly callId: string;
  /** When its request key was made, in milliseconds since the epoch. */
  readonly keyTime: number;
  readonly tool: string;
  readonly turn?: number | undefined;
  /** Units. */
  readonly cost: number;
  /** The limit of the contract for one turn, beside that of the task. */
  readonly callsPerTurn?: number | undefined;
}

export type BudgetLimit = 'rounds' | 'calls_per_turn' | 'calls_per_tool_per_turn' | 'wall' | 'spend' | 'turn';

export interface BudgetDenial {
  readonly limit: BudgetLimit;
  readonly used: number;
  readonly most: number;
  readonly renews: 'next_turn' | 'never';
}

export type BudgetTake =
  | { readonly type: 'taken'; readonly use: TaskUse }
  /** This call took its share before. */
  | { readonly type: 'had' }
  /** It may have taken its share so long ago that its id was forgotten: its record tells. */
  | { readonly type: 'ask' }
  | { readonly type: 'denied'; readonly denial: BudgetDenial };

type Turn = TaskUse['open'][number];

export const nothingUsed = (taskId: string): TaskUse => ({
  taskId,
  rounds: 0,
  spent: 0,
  closed: NO_TURN,
  open: [],
  taken: [],
});

const reached = (
  limit: BudgetLimit,
  used: number,
  more: number,
  most: number | undefined,
  renews: BudgetDenial['renews'],
): BudgetDenial | undefined => (most !== undefined && used + more > most ? { limit, used, most, renews } : undefined);

const leastOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

const denialOf = (use: TaskUse, turn: Turn, isNew: boolean, budget: TaskBudget, want: BudgetWant) => {
  const perTool = leastOf(budget.callsPerToolPerTurn, want.callsPerTurn);
  const ofTool = turn.tools[want.tool] ?? 0;
  const isOver = isNew && turn.turn !== NO_TURN && turn.turn <= use.closed;
  const tools = Object.keys(turn.tools).length;
  return (
    (isOver ? ({ limit: 'turn', used: turn.turn, most: use.closed, renews: 'next_turn' } as const) : undefined) ??
    reached('rounds', use.rounds, isNew ? 1 : 0, budget.rounds, 'never') ??
    reached('calls_per_turn', turn.calls, 1, budget.callsPerTurn, 'next_turn') ??
    reached('calls_per_tool_per_turn', ofTool, 1, perTool, 'next_turn') ??
    (ofTool === 0 ? reached('calls_per_tool_per_turn', tools, 1, MOST_TOOLS, 'next_turn') : undefined) ??
    reached('spend', use.spent, want.cost, budget.spend, 'never')
  );
};

/** The turns that are still open, in order; those before them are over, and only their number is kept. */
const withTurn = (use: TaskUse, turn: Turn): Pick<TaskUse, 'open' | 'closed'> => {
  const others = use.open.filter((other) => other.turn !== turn.turn);
  const open = [...others, turn].sort((a, b) => a.turn - b.turn);
  const named = open.filter((other) => other.turn !== NO_TURN);
  const over = named.slice(0, Math.max(0, named.length - MOST_OPEN_TURNS));
  return {
    open: open.filter((other) => !over.includes(other)),
    closed: Math.max(use.closed, ...over.map((other) => other.turn)),
  };
};

/** The newest ids; of the others only how new the newest was. */
const withId = (
  { taken, forgotten }: TaskUse,
  { callId, keyTime }: BudgetWant,
): Pick<TaskUse, 'taken' | 'forgotten'> => {
  const all = [...taken, { callId, keyTime }];
  const dropped = all.slice(0, Math.max(0, all.length - MOST_TAKEN_IDS));
  const newest = Math.max(forgotten ?? Number.NEGATIVE_INFINITY, ...dropped.map((id) => id.keyTime));
  return { taken: all.slice(dropped.length), ...(Number.isFinite(newest) ? { forgotten: newest } : {}) };
};

/**
 * Takes the share of one call out of the budget of its task (protocol 3, the last check before (1)): once, however
 * often it is asked, and never given back. Pure; stored by compare-and-set, so that any number of routers together
 * never give more than the limits.
 *
 * `isNew`: the caller has seen that there is no record of this call.
 */
export const takeFromBudget = (use: TaskUse, budget: TaskBudget, want: BudgetWant, isNew = false): BudgetTake => {
  if (use.taken.some(({ callId }) => callId === want.callId)) return { type: 'had' };
  if (!isNew && use.forgotten !== undefined && want.keyTime <= use.forgotten) return { type: 'ask' };
  const number = want.turn ?? NO_TURN;
  const known = use.open.find(({ turn }) => turn === number);
  const turn = known ?? { turn: number, calls: 0, tools: {} };
  const denial = denialOf(use, turn, known === undefined, budget, want);
  if (denial) return { type: 'denied', denial };
  const counted: Turn = {
    turn: number,
    calls: turn.calls + 1,
    tools: { ...turn.tools, [want.tool]: (turn.tools[want.tool] ?? 0) + 1 },
  };
  return {
    type: 'taken',
    use: {
      ...use,
      rounds: use.rounds + (known === undefined ? 1 : 0),
      spent: use.spent + want.cost,
      ...withTurn(use, counted),
      ...withId(use, want),
    },
  };
};
