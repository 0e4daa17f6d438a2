import type { Claim } from '@toolfabric/contract';
import { isLive } from './claim.ts';

/** What a worker does with a verified work message (protocol 6). */
export type DeliveryVerdict =
  | 'take'
  /** Another delivery of the same message is being worked on: acknowledging would delete the holder's message. */
  | 'later'
  | 'acknowledge'
  /** A stored outcome exists: publish it again, then acknowledge. */
  | 'republish';

/**
 * A background message has done its work once a claim of its epoch is stored: whoever sees it again, because the
 * acknowledgement was lost, acknowledges it for the holder (protocol 9).
 */
export const judgeDelivery = (
  message: { epoch: number; sequence: number; background?: boolean | undefined },
  claim: Claim | undefined,
): DeliveryVerdict => {
  const claimEpoch = claim?.epoch ?? 1;
  if (message.epoch > claimEpoch) return 'later';
  if (message.epoch < claimEpoch) return 'acknowledge';
  if (claim === undefined || claim.state === 'released') return 'take';
  if (isLive(claim)) return message.background || claim.sequence !== message.sequence ? 'acknowledge' : 'later';
  return claim.state === 'done' ? 'republish' : 'acknowledge';
};
