import { type CallRecord, CLOCK_LEEWAY_MS, type DoorLife } from '@toolfabric/contract';

/** What stands between a call and the proof that nothing of it can go out any more (protocol 7 (b)). */
export interface FencePlan {
  /** Egress processes that must each answer that they have closed everything of it. */
  readonly ask: readonly string[];
  /** Processes that may have sent for it and can answer no more: nobody can say what they left on its way. */
  readonly lost: readonly string[];
}

/** A dead one is of no concern to a call that was accepted after its death. */
const mayHaveSent = ({ diedAt }: DoorLife, { createdAt }: Pick<CallRecord, 'createdAt'>): boolean =>
  diedAt === undefined || createdAt <= diedAt + CLOCK_LEEWAY_MS;

/**
 * Whom to ask, once the floor of the call is stored: who begins to live after that reads it before it opens a permit.
 * The death of an egress is no fence: what its kernel had taken is still sent. One that drained had closed everything.
 */
export const planFence = (doors: readonly DoorLife[], call: Pick<CallRecord, 'kind' | 'createdAt'>): FencePlan => {
  const concerned = doors.filter(({ kinds }) => kinds.includes(call.kind));
  const named = (state: DoorLife['state']) => concerned.filter((door) => door.state === state);
  return {
    ask: named('alive').map(({ incarnation }) => incarnation),
    lost: named('dead')
      .filter((door) => mayHaveSent(door, call))
      .map(({ incarnation }) => incarnation),
  };
};

/** Whether the n-th question about a call was sent behind the fence: only then does its "absent" prove anything. */
export const isFenced = ({ probe, epoch, reconcile }: CallRecord, n: number): boolean =>
  reconcile?.fence === 'egress' && probe?.fenced?.epoch === epoch && n >= probe.fenced.from;
