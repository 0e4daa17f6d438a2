/**
 * What must hold afterwards, by comparing the ledger with the truths outside and with what was told: L1 at most one
 * effect an operation key; L2 one terminal state; L3 no `ok` without its effect, none otherwise; L4 no effect without a
 * used approval over the same arguments; L5 what waited for a person and got a no never ran.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ApprovalRecord, CallRecord } from '@toolfabric/contract';
import { ANSWERED } from '@toolfabric/contract';
import { digestOf } from '@toolfabric/kernel';
import { isFinal } from '@toolfabric/ledger';
import { commentsIn, type TrackerComment } from '../../peers/tracker/src/truth-log.ts';
import type { Attempt, Comment } from './act.ts';
import type { Answered, Edited } from './people.ts';
import { type GovernedWorld, NARROW_SPEND } from './world.ts';

/** A call that may be: what was asked for, and what the ledger holds of it. */
export interface Judged {
  readonly callId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly args: Attempt['args'];
  readonly attempt?: Attempt;
  readonly call: CallRecord | undefined;
  readonly approval: ApprovalRecord | undefined;
}

const READ_AT_ONCE = 32;

export const inTurns = async <T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> => {
  const found: R[] = [];
  for (let at = 0; at < items.length; at += READ_AT_ONCE)
    found.push(...(await Promise.all(items.slice(at, at + READ_AT_ONCE).map(read))));
  return found;
};

export const readAll = (
  world: GovernedWorld,
  attempts: readonly Attempt[],
  edits: readonly Edited[],
): Promise<Judged[]> => {
  const asked: Omit<Judged, 'call' | 'approval'>[] = [
    ...attempts.map((attempt) => ({ ...attempt, tenant: attempt.agent.actor.tenant, attempt })),
    ...edits.map(({ callId, actor, args }) => ({
      callId,
      tenant: actor.tenant,
      tool: 'issue.comment',
      args: { ...args },
    })),
  ];
  return inTurns(asked, async (one) => {
    const call = await world.call(one.tenant, one.callId);
    const approval = call?.approvalId === undefined ? undefined : await world.approval(one.tenant, call.approvalId);
    return { ...one, call, approval };
  });
};

/** Told once and recorded the same; an `unknown` may have been found out since. */
const judgeTold = ({ callId, attempt, call }: Judged): string[] => {
  const view = attempt?.view;
  if (view === undefined || !ANSWERED.has(view.state)) return [];
  if (view.state === 'refused') return call === undefined ? [] : [`L2: ${callId} was refused, and is ${call.state}`];
  if (call === undefined) return [`L2: ${callId} was told as ${view.state}, and has no record`];
  if (view.state === 'unknown') return [];
  return view.state === call.state && isDeepStrictEqual(view.result, call.result)
    ? []
    : [`L2: ${callId} was told as ${view.state}, and is ${call.state}, or with another result`];
};

const judgeEnd = ({ callId, tool, args, call }: Judged): string[] => {
  if (call === undefined) return [];
  const isOver = isFinal(call.state) || call.state === 'unknown';
  const hash = digestOf(args);
  return [
    ...(isOver ? [] : [`L2: ${callId} (${tool}) is ${call.state}`]),
    ...(call.argsHash === '' || call.argsHash === hash
      ? []
      : [`L4: ${callId} has other arguments than were asked for`]),
  ];
};

const judgeWrites = (world: GovernedWorld, judged: readonly Judged[]): string[] => {
  const times = new Map<string, number>();
  for (const { identity } of world.cluster.truth()) times.set(identity, (times.get(identity) ?? 0) + 1);
  return judged.flatMap(({ callId, tool, args, call }) => {
    if (!tool.startsWith('truth.append')) return [];
    const happened = times.get(String(args['identity'])) ?? 0;
    const wrong = [];
    if (happened > 1) wrong.push(`L1: ${callId} (${tool}) happened ${happened} times`);
    if (call?.state === 'ok' && happened !== 1)
      wrong.push(`L3: ${callId} (${tool}) is ok and happened ${happened} times`);
    if (call?.state !== 'ok' && call?.state !== 'unknown' && happened > 0)
      wrong.push(`L3: ${callId} (${tool}) is ${call?.state ?? 'not recorded'} and happened`);
    return wrong;
  });
};

const isUsed = ({ call, approval }: Judged): boolean =>
  approval?.state === 'consumed' && approval.argsHash === call?.argsHash && approval.callId === call?.callId;

const groupOf = ({ number, key }: { number: string | number; key: string | number }): string => `${number} ${key}`;

const judgeGroup = (name: string, calls: readonly Judged[], comments: readonly TrackerComment[]): string[] => {
  const wrong = comments.length > 1 ? [`L1: ${name} has ${comments.length} comments`] : [];
  const comment = comments[0];
  const hash = comment && digestOf({ number: comment.issue, body: comment.body, key: comment.key } satisfies Comment);
  const same = calls.filter((one) => digestOf(one.args) === hash);
  const states = calls.map(({ callId, call }) => `${callId} ${call?.state}`).join(', ');
  if (comment && !same.some(({ call }) => call?.state === 'ok' || call?.state === 'unknown'))
    wrong.push(`L3: ${name} has a comment, and no call says so: ${states}`);
  if (comment && !same.some(isUsed)) wrong.push(`L4: ${name} has a comment without a used approval: ${states}`);
  for (const { callId, call, args } of calls)
    if (call?.state === 'ok' && digestOf(args) !== hash)
      wrong.push(`L3: ${callId} is ok without its comment at ${name}`);
  return wrong;
};

const judgeComments = (world: GovernedWorld, judged: readonly Judged[]): string[] => {
  const calls = Map.groupBy(
    judged.filter(({ tool }) => tool === 'issue.comment'),
    ({ args }) => groupOf({ number: args['number'] ?? 0, key: args['key'] ?? '' }),
  );
  const comments = Map.groupBy(commentsIn(world.cluster.trackerFile), ({ issue, key }) =>
    groupOf({ number: issue, key }),
  );
  const names = new Set([...calls.keys(), ...comments.keys()]);
  return [...names].flatMap((name) => judgeGroup(name, calls.get(name) ?? [], comments.get(name) ?? []));
};

const judgeApprovals = async (world: GovernedWorld, judged: readonly Judged[], answers: readonly Answered[]) => {
  const wrong: string[] = [];
  const asked = judged.filter(({ call }) => call?.approvalId !== undefined);
  const byId = new Map(asked.map((one) => [one.call?.approvalId, one]));
  for (const { callId, call, approval } of asked) {
    if (approval === undefined || approval.state === 'pending') wrong.push(`L4: ${callId} has no answered approval`);
    if (approval?.decidedBy?.user === call?.actor.user) wrong.push(`L4: ${callId} was approved by who asked`);
  }
  for (const { approvalId, state } of answers) {
    const now = byId.get(approvalId)?.approval?.state;
    const fits = state === 'denied' ? now === 'denied' : now !== 'denied' && now !== 'pending';
    if (!fits) wrong.push(`L4: ${approvalId} was answered with ${state}, and is ${now}`);
  }
  const refused = asked.filter(({ approval }) => approval?.state === 'denied');
  const claims = await inTurns(refused, ({ call }) => world.claim(call as CallRecord));
  for (const [at, claim] of claims.entries())
    if (claim !== undefined && claim.state !== 'cancelled') wrong.push(`L5: ${refused[at]?.callId} was denied and ran`);
  for (const { callId, call } of refused) if (call?.state === 'ok') wrong.push(`L3: ${callId} was denied and is ok`);
  return wrong;
};

/** A rule that always forbids, and a budget that is never passed. */
const judgeLimits = (world: GovernedWorld, judged: readonly Judged[]): string[] => {
  const wrong = judged
    .filter(({ args, call }) => String(args['identity']).startsWith('forbidden-') && call !== undefined)
    .map(({ callId }) => `L4: ${callId} is forbidden, and was accepted`);
  for (const { narrowTaskId } of world.agents) {
    const spent = judged.filter(({ call }) => call?.taskId === narrowTaskId).length;
    if (spent > NARROW_SPEND)
      wrong.push(`the budget of ${narrowTaskId} is ${NARROW_SPEND}, and ${spent} were accepted`);
  }
  return wrong;
};

export const judge = async (world: GovernedWorld, judged: readonly Judged[], answers: readonly Answered[]) => [
  ...judged.flatMap((one) => [...judgeTold(one), ...judgeEnd(one)]),
  ...judgeWrites(world, judged),
  ...judgeComments(world, judged),
  ...judgeLimits(world, judged),
  ...(await judgeApprovals(world, judged, answers)),
];
