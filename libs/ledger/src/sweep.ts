import { type CallRecord, type Claim, MAX_EPOCH, type OpenEntry } from '@toolfabric/contract';
import { isAsking, isFinal } from './call.ts';

/** What the holder of a shard does about one open call (protocol 3, 5, 7, 10). */
export type SweepAction =
  | 'wait'
  /** An entry whose call was never stored. */
  | 'abandon'
  /** The call ended, but its closing steps may be missing. */
  | 'close'
  /** Resume protocol 3 at the first step that is missing. */
  | 'resume'
  /** Look at the approval that the call waits for. */
  | 'check_approval'
  /** Look at the operation that the call joined. */
  | 'check_operation'
  /** Publish the current epoch, or learn the sequence of the one that was published. */
  | 'publish'
  /** Its message lies in the slot of a worker that is gone: take it back from there, and let anybody have it. */
  | 'unpin'
  /** The policy moved while its message waited: it is decided again. */
  | 'decide_again'
  /** The claim tells the end. */
  | 'settle'
  | 'expire'
  /** Raise the epoch: nothing was started. */
  | 'release'
  | 'orphan'
  | 'dead_letter'
  | 'probe'
  /** The window of the probe is over: a person must say. */
  | 'leave_to_person';

export interface SweepFacts {
  readonly open: OpenEntry;
  readonly call: CallRecord | undefined;
  readonly claim: Claim | undefined;
  /** The incarnation in the claim is dead. */
  readonly holderDead: boolean;
  /** The stored sequence is no more in the work stream; undefined when none is stored. */
  readonly workGone: boolean | undefined;
  /** No living worker takes work from the pin slot that the call's message was sent to. */
  readonly pinLost: boolean;
  /** A later policy than the one that decided the call holds by now. */
  readonly policyMoved?: boolean;
  readonly now: number;
  readonly graceMs: number;
}

const planUnknown = ({ claim, now }: SweepFacts, call: CallRecord): SweepAction => {
  if (claim?.state === 'done' && claim.outcome?.status !== 'unknown') return 'settle';
  if (call.reconcile === undefined || call.left) return 'leave_to_person';
  if (claim?.state === 'released') return 'publish';
  if (now > (call.settledAt ?? now) + call.reconcile.windowMs) return 'leave_to_person';
  return call.probe === undefined || now >= call.probe.nextAt ? 'probe' : 'wait';
};

const raise = (epoch: number): SweepAction => (epoch >= MAX_EPOCH ? 'dead_letter' : 'release');

/** Without a live claim: has the message of this epoch been taken away unanswered, or is it still to come? */
const planUnclaimed = (facts: SweepFacts, call: CallRecord): SweepAction => {
  const { open, claim, workGone, pinLost, now } = facts;
  if (now > call.deadline) return 'expire';
  const epoch = claim?.epoch ?? call.epoch;
  const mark = call.decidedAgain ? call.watermark : undefined;
  const isSent = open.sent?.epoch === epoch && open.sent.pin === call.pin && open.sent.watermark === mark;
  if (epoch === call.epoch && now < (call.notBefore ?? now)) return 'wait';
  if (epoch !== call.epoch || !isSent) return 'publish';
  if (facts.policyMoved === true && workGone === false) return 'decide_again';
  // Without a claim nothing tells who took it from the slot, or whether a router took it back and died over it.
  const mayBeTakenBack = workGone === true && call.pin !== undefined && call.claim === 'none';
  if (pinLost || mayBeTakenBack) return 'unpin';
  if (workGone !== true) return 'wait';
  return call.claim === 'none' ? 'dead_letter' : raise(epoch);
};

const planQueued = (facts: SweepFacts, call: CallRecord): SweepAction => {
  const { claim, holderDead, now } = facts;
  switch (claim?.state) {
    case 'done':
    case 'cancelled':
    case 'orphaned':
      return 'settle';
    case 'claimed':
      if (holderDead) return now > call.deadline ? 'expire' : raise(claim.epoch);
      return now > call.deadline ? 'expire' : 'wait';
    case 'started':
      if (holderDead) return 'orphan';
      return now > call.deadline && !claim.cancelRequested ? 'expire' : 'wait';
    default:
      return planUnclaimed(facts, call);
  }
};

export const planSweep = (facts: SweepFacts): SweepAction => {
  const { open, call, now, graceMs } = facts;
  const young = now < open.openedAt + graceMs;
  if (call === undefined) return young ? 'wait' : 'abandon';
  if (isFinal(call.state)) return young ? 'wait' : 'close';
  switch (call.state) {
    case 'awaiting_approval':
      return 'check_approval';
    case 'joined':
      return 'check_operation';
    case 'accepted':
      if (now > call.deadline) return 'expire';
      if (isAsking(call) && call.probe !== undefined) return now >= call.probe.nextAt ? 'resume' : 'wait';
      return young ? 'wait' : 'resume';
    case 'unknown':
      return planUnknown(facts, call);
    default:
      return young && now <= call.deadline ? 'wait' : planQueued(facts, call);
  }
};
