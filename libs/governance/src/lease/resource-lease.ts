import { MOST_WAITING_WRITES, type ResourceLease } from '@toolfabric/contract';

export interface LeaseAsk {
  readonly callId: string;
  /** When the call was accepted, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** Calls that are seen to be over: they hold nothing and wait for nothing. */
  readonly over?: ReadonlySet<string>;
}

const inOrder = (a: ResourceLease['waiting'][number], b: ResourceLease['waiting'][number]): number =>
  a.acceptedAt - b.acceptedAt || (a.callId < b.callId ? -1 : 1);

const granted = ({ holder, waiting }: ResourceLease): ResourceLease => {
  if (holder !== undefined) return { holder, waiting };
  const [first, ...rest] = waiting;
  return first === undefined ? { waiting: [] } : { holder: first.callId, waiting: rest };
};

/**
 * The lease of one resource after a call asked for it (protocol 3 (4)): it holds it, or it waits in the order of
 * acceptance. Asking again changes nothing. Pure.
 */
export const askForLease = (
  lease: ResourceLease | undefined,
  { callId, acceptedAt, over }: LeaseAsk,
): ResourceLease => {
  const present = lease ?? { waiting: [] };
  const holder = present.holder !== undefined && over?.has(present.holder) ? undefined : present.holder;
  const waiting = present.waiting.filter((other) => other.callId !== callId && !over?.has(other.callId));
  if (holder === callId) return { holder, waiting };
  const all = [...waiting, { callId, acceptedAt }].sort(inOrder).slice(0, MOST_WAITING_WRITES);
  return granted({ ...(holder === undefined ? {} : { holder }), waiting: all });
};

/** After a call is over: the next one holds it. Undefined when the call had nothing to do with it. */
export const leaveLease = (lease: ResourceLease, callId: string): ResourceLease | undefined => {
  const waiting = lease.waiting.filter((other) => other.callId !== callId);
  if (lease.holder === callId) return granted({ waiting });
  return waiting.length === lease.waiting.length ? undefined : { ...lease, waiting };
};

export const isLeaseFree = ({ holder, waiting }: ResourceLease): boolean =>
  holder === undefined && waiting.length === 0;
