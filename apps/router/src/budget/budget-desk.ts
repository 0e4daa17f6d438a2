import type { TaskBudget, TaskUse } from '@toolfabric/contract';
import { type BudgetTake, type BudgetWant, nothingUsed, takeFromBudget } from '@toolfabric/governance';
import type { Clock } from '@toolfabric/kernel';
import { changeRecord, useKey } from '@toolfabric/ledger';
import type { LedgerPorts, Versioned } from '@toolfabric/ports';

export interface BudgetAsk {
  readonly tenant: string;
  readonly taskId: string;
  readonly budget: TaskBudget;
  readonly want: BudgetWant;
  /** One call under way at most. */
  readonly serial: boolean;
  /** There is no record of this call. */
  readonly isNew?: boolean;
  /** In serial mode: a call that is seen to be over. */
  readonly over?: string;
  /** In serial mode: the call whose place this one is to take, which keeps it for now. */
  readonly inPlaceOf?: string;
}

export type BudgetAnswer =
  | BudgetTake
  /** In serial mode: another call is under way, and took the place then. */
  | { readonly type: 'busy'; readonly callId: string; readonly at: number };

interface Waiting {
  readonly ask: BudgetAsk;
  readonly settle: (answer: BudgetAnswer | Promise<never>) => void;
}

/** Tasks whose last use is remembered, which saves a read. */
const MOST_REMEMBERED = 1_000;

const answerOne = (
  use: TaskUse,
  { budget, want, serial, isNew, over, inPlaceOf }: BudgetAsk,
  now: number,
): BudgetAnswer => {
  const place = use.serial;
  const isLent = place !== undefined && place.callId === inPlaceOf;
  if (serial && place !== undefined && ![want.callId, over, inPlaceOf].includes(place.callId))
    return { type: 'busy', ...place };
  const take = takeFromBudget(use, budget, want, isNew === true);
  const enters = serial && !isLent && place?.callId !== want.callId && (take.type === 'taken' || take.type === 'had');
  if (!enters) return take;
  return {
    type: 'taken',
    use: { ...(take.type === 'taken' ? take.use : use), serial: { callId: want.callId, at: now } },
  };
};

/**
 * Takes out of the budgets of tasks by compare-and-set. What is asked for one task while a write of it is under way goes
 * into the next write together, so that calls at once do not fight over one record.
 */
export class BudgetDesk {
  readonly #uses: LedgerPorts['uses'];
  readonly #clock: Clock;
  readonly #queues = new Map<string, Waiting[]>();
  readonly #remembered = new Map<string, Versioned<TaskUse>>();

  constructor(uses: LedgerPorts['uses'], clock: Clock) {
    this.#uses = uses;
    this.#clock = clock;
  }

  /** Throws `StoreUnavailable`: then it is not known whether the share was taken, and asking again is safe. */
  take(ask: BudgetAsk): Promise<BudgetAnswer> {
    const key = useKey(ask.tenant, ask.taskId);
    return new Promise<BudgetAnswer>((settle) => {
      const queue = this.#queues.get(key);
      if (queue !== undefined) return void queue.push({ ask, settle });
      const own = [{ ask, settle }];
      this.#queues.set(key, own);
      void this.#serve(key, ask.taskId, own);
    });
  }

  /** Whether the place of a serial task is still this call's, as it is stored now. */
  async holdsPlace(tenant: string, taskId: string, callId: string): Promise<boolean> {
    return (await this.#uses.get(useKey(tenant, taskId)))?.value.serial?.callId === callId;
  }

  async #serve(key: string, taskId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const round = queue.splice(0);
      try {
        const answers = await this.#write(key, taskId, round);
        round.forEach(({ settle }, at) => {
          settle(answers[at] as BudgetAnswer);
        });
      } catch (thrown) {
        this.#remembered.delete(key);
        for (const { settle } of round) settle(Promise.reject(thrown));
      }
    }
    this.#queues.delete(key);
  }

  async #write(key: string, taskId: string, round: readonly Waiting[]): Promise<BudgetAnswer[]> {
    const believed = this.#remembered.get(key);
    let answers: BudgetAnswer[] = [];
    const change = await changeRecord(
      this.#uses,
      key,
      (stored) => {
        let use = stored ?? nothingUsed(taskId);
        answers = round.map(({ ask }) => {
          const answer = answerOne(use, ask, this.#clock.now());
          if (answer.type === 'taken') use = answer.use;
          return answer;
        });
        return answers.some(({ type }) => type === 'taken') ? use : undefined;
      },
      { clock: this.#clock, ...(believed === undefined ? {} : { believed }) },
    );
    // What was only remembered tells nothing about who is under way now.
    if (!change.done && believed !== undefined && answers.some(({ type }) => type === 'busy')) {
      this.#remembered.delete(key);
      return this.#write(key, taskId, round);
    }
    this.#remember(key, change.done ? change : change.current);
    return answers;
  }

  #remember(key: string, use: Versioned<TaskUse> | undefined): void {
    this.#remembered.delete(key);
    if (use === undefined) return;
    this.#remembered.set(key, use);
    const oldest = this.#remembered.keys().next();
    if (this.#remembered.size > MOST_REMEMBERED && !oldest.done) this.#remembered.delete(oldest.value);
  }
}
