import { ISOLATION_LEVELS, type Isolation, type LifeSign, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import {
  type InputTrust,
  isolationFloor,
  isolationRank,
  type Reach,
  strongerOf,
  type Tenancy,
} from './isolation-floor.ts';

export type LiveExecutor = Pick<LifeSign, 'incarnation' | 'state' | 'isolation' | 'handlers' | 'egress'>;

export interface ExecutionQuestion {
  readonly contract: ToolContract;
  /** The life signs of each pool. */
  readonly liveKinds: ReadonlyMap<string, readonly LiveExecutor[]>;
  readonly inputTrust: InputTrust;
  readonly tenancy: Tenancy;
  /** What the caller asked for; `hi` when left out. */
  readonly priority?: 'hi' | 'lo';
  /** False for a call that names no host: it needs no way out, although its contract lets others have one. */
  readonly reachesOut?: boolean;
}

export interface RejectedKind {
  readonly kind: string;
  readonly why: 'not_live' | 'handler_unknown' | 'no_egress' | 'isolation_missing';
  readonly reason: string;
}

export interface ExecutionChoice {
  /** The pool, which is `<kind>` in subjects, streams and accounts. */
  readonly kind: string;
  readonly isolation: Isolation;
  readonly priority: 'hi' | 'lo';
  readonly reasons: readonly string[];
  readonly rejected: readonly RejectedKind[];
}

/**
 * The weakest level that is at least `needed` and that every executor offers: any of them may get the message, since a
 * pool is made of equal workers.
 */
const commonLevel = (executors: readonly LiveExecutor[], needed: Isolation): Isolation | undefined =>
  ISOLATION_LEVELS.slice(isolationRank(needed)).find((level) =>
    executors.every(({ isolation }) => isolation.includes(level)),
  );

const tryKind = (kind: string, question: ExecutionQuestion, needed: Isolation): Isolation | RejectedKind => {
  const handler = question.contract.execution.handler;
  const alive = (question.liveKinds.get(kind) ?? []).filter(({ state }) => state === 'alive');
  if (alive.length === 0) return { kind, why: 'not_live', reason: `no executor of ${kind} is alive` };
  const lacking = alive.find(({ handlers }) => !handlers.includes(handler));
  if (lacking !== undefined) {
    return { kind, why: 'handler_unknown', reason: `${lacking.incarnation} of ${kind} does not know ${handler}` };
  }
  const closed = alive.find(({ egress }) => egress !== true);
  const { reachesOut = true, contract } = question;
  if (reachesOut && contract.execution.network === 'permit' && closed !== undefined) {
    return { kind, why: 'no_egress', reason: `${closed.incarnation} of ${kind} has no way out` };
  }
  return (
    commonLevel(alive, needed) ?? {
      kind,
      why: 'isolation_missing',
      reason: `not every executor of ${kind} offers ${needed} or stronger`,
    }
  );
};

/** `sandbox_unavailable` only when waiting cannot help: each pool is there and none has the level. */
const refusal = (contract: ToolContract, rejected: readonly RejectedKind[]): FabricError => {
  const are = (reason: RejectedKind['why']) => rejected.every(({ why }) => why === reason);
  const type = are('isolation_missing')
    ? 'sandbox_unavailable'
    : are('no_egress')
      ? 'egress_unavailable'
      : 'no_executor';
  return new FabricError(type, `${contract.name}: ${rejected.map(({ reason }) => reason).join('; ')}`);
};

/** A worker of the web runs no program and has no files: its tools reach hosts alone. */
const reachOf = ({ execution }: ToolContract): Reach =>
  execution.adapter === 'web' && execution.network === 'permit' ? 'permit' : 'worker';

/**
 * Where a call runs. The isolation is computed from risk, input trust and tenancy and is never below the minimum of
 * the contract; a level that is missing is refused and never replaced by a weaker one.
 *
 * Throws `no_executor` or `egress_unavailable` (both retryable), or `sandbox_unavailable`.
 */
export const chooseExecution = (question: ExecutionQuestion): ExecutionChoice => {
  const { contract, inputTrust, tenancy } = question;
  const { execution, governance } = contract;
  const floor = isolationFloor(governance.risk, inputTrust, tenancy, reachOf(contract));
  const needed = strongerOf(floor, execution.isolation);
  const rejected: RejectedKind[] = [];
  for (const kind of execution.pools.length > 0 ? execution.pools : [execution.adapter]) {
    const tried = tryKind(kind, question, needed);
    if (typeof tried !== 'string') {
      rejected.push(tried);
      continue;
    }
    const reasons = [
      `${governance.risk}, ${inputTrust} input and ${tenancy} tenancy ask for ${floor}; the contract for ${execution.isolation}`,
      `${kind} is the first pool of the contract that can run it, at ${tried}`,
    ];
    return { kind, isolation: tried, priority: question.priority ?? 'hi', reasons, rejected };
  }
  throw refusal(contract, rejected);
};
