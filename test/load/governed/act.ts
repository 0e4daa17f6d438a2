import type { CallView } from '@toolfabric/contract';
import { callIdFor, FabricError, uuidv7 } from '@toolfabric/kernel';
import type { Random } from '../../simulation/scheduler.ts';
import type { Agent } from './world.ts';

/** One action, under one request key however often it is tried. */
export interface Attempt {
  readonly agent: Agent;
  readonly callId: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, string | number>>;
  readonly isNarrow: boolean;
  /** What its caller heard last. */
  view?: CallView;
}

export interface Comment {
  readonly number: number;
  readonly body: string;
  readonly key: string;
}

const WAITING = new Set(['accepted', 'queued', 'running', 'joined']);

interface Plan {
  readonly tool: string;
  readonly args: Attempt['args'];
}

/** Plans the actions of one agent: mostly reads, writes in the workspace, and comments, some under a key used before. */
export class Planner {
  readonly #random: Random;
  readonly #name: string;
  readonly #earlier: Comment[] = [];
  #count = 0;

  constructor(random: Random, name: string) {
    this.#random = random;
    this.#name = name;
  }

  next(): Plan {
    this.#count += 1;
    const identity = `${this.#name}-${this.#count}`;
    const dice = this.#random.next();
    if (dice < 0.4) return { tool: 'truth.noop', args: {} };
    if (dice < 0.5) return { tool: 'issue.read', args: { number: 1 + this.#random.int(99) } };
    if (dice < 0.52) return { tool: 'truth.append', args: { identity: `forbidden-${identity}` } };
    if (dice < 0.72) return { tool: 'truth.append', args: { identity } };
    if (dice < 0.84) return { tool: 'truth.append_blind', args: { identity } };
    return { tool: 'issue.comment', args: { ...this.#comment(identity) } };
  }

  #comment(identity: string): Comment {
    const earlier = this.#earlier.length === 0 ? undefined : this.#random.pick(this.#earlier);
    if (earlier && this.#random.chance(0.1)) return earlier;
    if (earlier && this.#random.chance(0.05)) return { ...earlier, body: `other words ${identity}` };
    const comment = { number: 1 + this.#random.int(99), body: `verdict ${identity}`, key: identity };
    this.#earlier.push(comment);
    return comment;
  }
}

/** Tries until it is answered, or `mayGoOn` says that it is too late. A call that waits for a person is not waited for. */
const carryOut = async (attempt: Attempt, requestKey: string, mayGoOn: () => boolean): Promise<void> => {
  const { agent, tool, args } = attempt;
  const taskId = attempt.isNarrow ? agent.narrowTaskId : agent.taskId;
  while (mayGoOn()) {
    try {
      const proposal = { taskId, tool, args, requestKey, deadlineMs: 30_000 };
      attempt.view = await agent.client.call(proposal, { waitMs: 20_000, timeoutMs: 30_000 });
      const { state, result } = attempt.view;
      if (!WAITING.has(state) && !(state === 'refused' && result?.error?.retryable === true)) return;
    } catch (thrown) {
      if (!(thrown instanceof FabricError)) throw thrown;
    }
  }
};

export interface Calling {
  readonly random: Random;
  readonly attempts: Attempt[];
  /** How many actions there will be in all. */
  readonly most: number;
  readonly mayGoOn: () => boolean;
}

/** One caller of one agent: one action after the other while there are some left. Some it takes back. */
export const runCaller = async (agent: Agent, planner: Planner, calling: Calling): Promise<void> => {
  const { random, attempts, most, mayGoOn } = calling;
  while (attempts.length < most && mayGoOn()) {
    const requestKey = uuidv7();
    const callId = callIdFor(agent.actor, requestKey, Date.now());
    const { tool, args } = planner.next();
    const isNarrow = tool === 'truth.append' && random.chance(0.15);
    const attempt: Attempt = { agent, callId, tool, args, isNarrow };
    attempts.push(attempt);
    const isTakenBack = random.chance(0.03);
    const done = carryOut(attempt, requestKey, mayGoOn);
    if (isTakenBack) {
      await new Promise((resolve) => setTimeout(resolve, random.int(tool === 'issue.comment' ? 2_000 : 100)));
      await agent.client.cancelCall(callId, { timeoutMs: 5_000 }).catch(() => {});
    }
    await done;
  }
};
