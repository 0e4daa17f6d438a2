import type { Actor, ApprovalView } from '@toolfabric/contract';
import { callIdFor, FabricError, uuidv7 } from '@toolfabric/kernel';
import type { Random } from '../../simulation/scheduler.ts';
import type { Comment } from './act.ts';
import type { People } from './world.ts';

/** What a person heard when they answered. */
export interface Answered {
  readonly tenant: string;
  readonly approvalId: string;
  readonly state: string;
}

/** The call that may have taken the place of another. */
export interface Edited {
  readonly callId: string;
  readonly actor: Actor;
  readonly args: Comment;
}

export interface Answering {
  readonly random: Random;
  readonly answers: Answered[];
  readonly edits: Edited[];
  readonly argsOf: (callId: string) => Comment | undefined;
  readonly stop: AbortSignal;
}

/** A fabric that is away is asked again; whoever comes too late has nothing to say. */
const insist = async <T>(stop: AbortSignal, ask: () => Promise<T>): Promise<T | undefined> => {
  while (!stop.aborted) {
    try {
      return await ask();
    } catch (thrown) {
      if (!(thrown instanceof FabricError)) throw thrown;
      if (!thrown.toToolError().retryable && thrown.type !== 'cancelled') return undefined;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return undefined;
};

/** What became of it is found under its id, whatever the editor heard. */
const edit = async ({ clients: [grace], tenant }: People, approval: ApprovalView, answering: Answering) => {
  const { answers, edits, stop } = answering;
  const args = answering.argsOf(approval.callId);
  if (args === undefined) return;
  const requestKey = uuidv7();
  const edited = { ...args, body: `edited ${approval.approvalId}` };
  edits.push({ callId: callIdFor(approval.actor, requestKey, Date.now()), actor: approval.actor, args: edited });
  const done = await insist(stop, () =>
    grace.editApproval(approval.approvalId, { args: { ...edited }, requestKey }, { timeoutMs: 10_000 }),
  );
  if (done !== undefined) answers.push({ tenant, approvalId: done.replaced.approvalId, state: done.replaced.state });
};

/** A yes, a no, both at once by two people, or other words. */
const answer = async (people: People, approval: ApprovalView, answering: Answering): Promise<void> => {
  const { random, answers, stop } = answering;
  const { clients, tenant } = people;
  const { approvalId } = approval;
  const options = { timeoutMs: 10_000 };
  const [grace, linus] = clients;
  const dice = random.next();
  if (dice < 0.05) return edit(people, approval, answering);
  const grant = () => insist(stop, () => grace.grantApproval(approvalId, 'load', options));
  const deny = () => insist(stop, () => linus.denyApproval(approvalId, 'load', options));
  const heard = dice < 0.15 ? await Promise.all([grant(), deny()]) : [await (dice < 0.3 ? deny() : grant())];
  for (const view of heard) if (view !== undefined) answers.push({ tenant, approvalId, state: view.state });
};

/** The people of one tenant answer whatever waits, until the signal. */
export const answerAll = async (people: People, answering: Answering): Promise<void> => {
  const { stop } = answering;
  while (!stop.aborted) {
    const page = await people.clients[0].listApprovals({ limit: 50 }, { timeoutMs: 5_000 }).catch(() => undefined);
    const waiting = page?.approvals.filter(({ state }) => state === 'pending') ?? [];
    await Promise.all(waiting.slice(0, 16).map((approval) => answer(people, approval, answering)));
    if (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 200));
  }
};
