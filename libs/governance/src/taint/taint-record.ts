import { MOST_TAINT_MARKS, type Outcome, type TaintMark, type TaintRecord } from '@toolfabric/contract';

/** What an agent has read in one task it may remember in others, for so long, in milliseconds. */
const MEMORY_MS = 86_400_000;
/** After it, no task can still go on from what was read. */
const KEPT_MS = 30 * 86_400_000;

/** The origin of a mark that many were put together into: none of theirs is known any more. */
export const SEVERAL_ORIGINS = 'several';

/** What is read again and again is written once in so long, in milliseconds: others remember it from its last time. */
const AGAIN_MS = 60_000;

type Kept = TaintRecord['marks'][number];

/**
 * Where untrusted content came from; undefined for what is trusted and for the task's own workspace. What does not say
 * where it came from came from its tool.
 */
export const outsideOrigin = (
  { trust, origin }: Pick<Outcome, 'trust' | 'origin'>,
  tool: string,
  workspaceId: string | undefined,
): string | undefined => {
  if (trust === 'trusted') return undefined;
  if (origin === undefined || origin === '') return `tool:${tool}`;
  if (workspaceId !== undefined && origin === `workspace:${workspaceId}`) return undefined;
  return origin.slice(0, 500);
};

/** The oldest become one, which counts for every task: bounded, and nothing is forgotten too early. */
const bounded = (marks: readonly Kept[]): Kept[] => {
  if (marks.length <= MOST_TAINT_MARKS) return [...marks];
  const byAge = [...marks].sort((a, b) => a.at - b.at);
  const old = byAge.slice(0, byAge.length - MOST_TAINT_MARKS + 1);
  const newest = old.at(-1) as Kept;
  const isPrivate = old.some((mark) => mark.private === true);
  const one: Kept = {
    origin: SEVERAL_ORIGINS,
    callId: newest.callId,
    at: newest.at,
    ...(isPrivate && { private: true }),
  };
  return [one, ...byAge.slice(old.length)];
};

/**
 * The record of one (tenant, agent, user) with one more mark, or undefined when it says that already. One mark an
 * origin and task.
 */
export const addTaint = (record: TaintRecord | undefined, mark: TaintMark, taskId: string): TaintRecord | undefined => {
  const kept = (record?.marks ?? []).filter(({ at }) => at > mark.at - KEPT_MS);
  const same = kept.find((other) => other.origin === mark.origin && other.taskId === taskId);
  const isPrivate = mark.private === true || same?.private === true;
  if (same && isPrivate === (same.private === true) && mark.at - same.at < AGAIN_MS) return undefined;
  const next = { ...mark, taskId, ...(isPrivate && { private: true }) };
  return { marks: bounded([...kept.filter((other) => other !== same), next]) };
};

/** What a call of this task must be judged under: all of its own, and what its agent and user read a short while ago. */
export const taintOf = (record: TaintRecord | undefined, taskId: string, now: number): TaintMark[] =>
  (record?.marks ?? [])
    .filter((mark) => mark.taskId === undefined || mark.taskId === taskId || mark.at > now - MEMORY_MS)
    .map(({ taskId: _, ...mark }) => mark);
