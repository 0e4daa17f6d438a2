import type { Actor, Approver } from '@toolfabric/contract';
import { isSamePerson } from './approvals/may-decide.ts';

/** The right to say what became of a call (PO-10). */
const RESOLVE = 'unknown:resolve';

const isTheirs = (approver: Approver, actor: Actor): boolean =>
  approver.tenant === actor.tenant && approver.user === actor.user;

/** Whoever may resolve it, and whoever asked, through whichever agent: to everybody else it does not exist. */
export const maySeeUnknown = (approver: Approver, actor: Actor): boolean =>
  approver.tenant === actor.tenant && (isTheirs(approver, actor) || approver.rights.includes(RESOLVE));

/** What keeps this person from resolving it; nothing for who may. */
export const objectionToResolve = (approver: Approver, actor: Actor): string | undefined => {
  if (!approver.rights.includes(RESOLVE)) return `this needs a token with the right ${RESOLVE}`;
  return isSamePerson(approver.user, actor.user)
    ? 'who asked, through whichever agent, cannot say what became of it'
    : undefined;
};
