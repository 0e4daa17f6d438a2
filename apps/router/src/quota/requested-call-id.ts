import type { CallRequest } from '@toolfabric/contract';
import { callIdFor } from '@toolfabric/kernel';

/** The call that a request would be; empty where its key is none that can be accepted. */
export const requestedCallId = ({ actor, requestKey }: CallRequest, now: number): string => {
  try {
    return callIdFor(actor, requestKey, now);
  } catch {
    return '';
  }
};
