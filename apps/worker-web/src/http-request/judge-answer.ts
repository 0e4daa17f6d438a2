import { type ErrorType, type HttpOperation, isSafeMethod } from '@toolfabric/contract';

/** What a status says about the action that was asked for. */
export type Verdict =
  | { readonly end: 'done' }
  /** It is certain that nothing was changed. */
  | { readonly end: 'refused'; readonly type: ErrorType; readonly why: string }
  /** Nobody knows whether it was done. */
  | { readonly end: 'unknown'; readonly why: string };

const REFUSALS: Readonly<Record<number, readonly [type: ErrorType, why: string]>> = {
  401: ['credential_refused', 'does not accept the credential'],
  403: ['credential_refused', 'does not let this credential do it'],
  404: ['reported_failure', 'knows nothing of that name'],
  412: ['stale_version', 'holds another version than the expected one'],
  428: ['stale_version', 'asks for the version that is expected'],
  429: ['overloaded', 'limits its rate'],
};
/** The other side, or what stands before it, cannot answer at the moment. */
const ABSENT: ReadonlySet<number> = new Set([502, 503, 504]);

const refusalOf = (status: number): Verdict => {
  const [type, why] = REFUSALS[status] ?? ['reported_failure', 'refuses it'];
  return { end: 'refused', type, why: `${why} (status ${status})` };
};

const ofRead = (status: number): Verdict => {
  if (ABSENT.has(status))
    return { end: 'refused', type: 'host_unreachable', why: `cannot answer at the moment (status ${status})` };
  if (status >= 500) return { end: 'refused', type: 'reported_failure', why: `failed over it (status ${status})` };
  if (status >= 400) return refusalOf(status);
  const isRedirect = status >= 300;
  const why = isRedirect ? `points to another address, which is not followed (status ${status})` : `answered ${status}`;
  return { end: 'refused', type: 'reported_failure', why };
};

/**
 * What an answer means for its operation. After a request that may change something only three things are certain: a
 * status of success, a status that the interface names as a refusal, and a precondition that was sent and failed. All
 * else is unknown, an error of the server above all.
 */
export const judgeAnswer = (operation: HttpOperation, status: number, hasPrecondition: boolean): Verdict => {
  if (operation.success.includes(status)) return { end: 'done' };
  if (isSafeMethod(operation.method)) return ofRead(status);
  const isCertain = (operation.refusals ?? []).includes(status) || (status === 412 && hasPrecondition);
  return isCertain ? refusalOf(status) : { end: 'unknown', why: `answered ${status}` };
};
