import { type ApprovalRecord, type Approver, CLOCK_LEEWAY_MS, FRESH_MS } from '@toolfabric/contract';
import { isInScope } from './scope-of.ts';

/** Rights of a token (PO-10): for every action of the tenant, or for those below one resource. */
const DECIDE = 'approvals:decide';
const STRONG = 'approvals:strong';

export type DecideVerdict =
  /** The yes is whole. */
  | { readonly type: 'grant' }
  /** It counts, and a second person is needed. */
  | { readonly type: 'first_of_two' }
  | { readonly type: 'refuse'; readonly why: string };

const refuse = (why: string): DecideVerdict => ({ type: 'refuse', why });

/** Whether the rights of this person reach to what the approval is about. */
export const reaches = ({ rights }: Approver, resource: string | undefined): boolean =>
  rights.some(
    (right) =>
      right === DECIDE || (right.startsWith(`${DECIDE}:`) && isInScope(resource, right.slice(DECIDE.length + 1))),
  );

type About = Pick<ApprovalRecord, 'actor' | 'resource'>;

/** One name in other letters is one person: issuers and people write them differently. */
export const isSamePerson = (a: string, b: string): boolean => plain(a) === plain(b);
const plain = (user: string): string => user.normalize('NFKC').trim().toLowerCase();

const isAsker = (approver: Approver, { actor }: About): boolean => approver.user === actor.user;

/**
 * Whoever may decide it, and whoever asked: to everybody else it does not exist. The leave to read is no leave to
 * decide.
 */
export const maySee = (approver: Approver, approval: About): boolean =>
  approver.tenant === approval.actor.tenant && (isAsker(approver, approval) || reaches(approver, approval.resource));

/** What keeps this person from saying anything about it. */
const objection = (approver: Approver, approval: About): string | undefined => {
  if (approver.tenant !== approval.actor.tenant) return 'it belongs to another tenant';
  if (isSamePerson(approver.user, approval.actor.user)) return 'who asked, through whichever agent, cannot answer';
  if (reaches(approver, approval.resource)) return undefined;
  return `this needs a token with the right ${DECIDE}, or ${DECIDE}: and a scope that holds ${approval.resource ?? 'every action'}`;
};

export const mayDeny = (approver: Approver, approval: About): DecideVerdict => {
  const why = objection(approver, approval);
  return why === undefined ? { type: 'grant' } : refuse(why);
};

const isFresh = ({ freshAt }: Approver, now: number): boolean =>
  freshAt !== undefined && freshAt <= now + CLOCK_LEEWAY_MS && now - freshAt <= FRESH_MS;

/**
 * PO-10: never the one who asked, never without the right for that scope. A strong approval needs the right to it, and
 * either a fresh authentication or a second person: two tokens of one person are one person.
 */
export const mayDecide = (approver: Approver, approval: ApprovalRecord, now: number): DecideVerdict => {
  const why = objection(approver, approval);
  if (why !== undefined) return refuse(why);
  if (approval.strength !== 'strong') return { type: 'grant' };
  if (!approver.rights.includes(STRONG)) return refuse(`this needs a token with the right ${STRONG}`);
  if (isFresh(approver, now)) return { type: 'grant' };
  return approval.grants?.some(({ user }) => !isSamePerson(user, approver.user))
    ? { type: 'grant' }
    : { type: 'first_of_two' };
};
