import type { Claim, Outcome } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';

/** Every move of an execution (protocol 5). `take`, `start` and `finish` are the worker's, the rest the router's. */
export type ClaimMove =
  | {
      readonly type: 'take';
      readonly epoch: number;
      readonly sequence: number;
      readonly incarnation: string;
      readonly nonce: string;
    }
  | { readonly type: 'start'; readonly nonce: string; readonly intent: Json }
  | { readonly type: 'finish'; readonly nonce: string; readonly outcome: Outcome }
  | { readonly type: 'cancel'; readonly epoch: number; readonly reason: 'cancelled' | 'expired' | 'dead_letter' }
  | { readonly type: 'request_cancel' }
  /** The holder is dead, or nobody ever took it and its message is gone: a new epoch is safe, for nothing was started. */
  | { readonly type: 'release' }
  /** The holder is dead after `started`: only a receipt, a probe or a person can tell what happened. */
  | { readonly type: 'orphan' }
  /**
   * A receipt or a probe told; or the answer of another tool; or a person, who also answers for what an earlier attempt
   * may still do.
   */
  | { readonly type: 'resolve'; readonly outcome: Outcome; readonly by?: Claim['toldBy'] }
  /**
   * The probe found nothing, and a second run is safe (protocol 7): either a fence keeps the earlier one from ever
   * writing, or the other side deduplicates; then the earlier one may still take effect.
   */
  | { readonly type: 'rerun'; readonly because: 'fence' | 'dedupe' }
  /** The holder said that it did nothing, for a reason that passes: the next epoch may try again. */
  | { readonly type: 'retry'; readonly epoch: number };

const blank = { sequence: 0, incarnation: '', nonce: '', cancelRequested: false } as const;

const inDoubt = (claim: Claim | undefined) => (claim?.doubt === true ? { doubt: true } : {});

/** Under doubt an end without an effect does not say that nothing happened. */
const underDoubt = (claim: Claim, outcome: Outcome): Outcome =>
  claim.doubt === true && outcome.status === 'error' && outcome.sideEffect === 'none'
    ? {
        status: 'unknown',
        summary: `An earlier attempt may still take effect. ${outcome.summary}`.slice(0, 4096),
        sideEffect: 'possible',
        trust: 'trusted',
      }
    : outcome;

const isUnknown = (claim: Claim): boolean =>
  claim.state === 'orphaned' || (claim.state === 'done' && claim.outcome?.status === 'unknown');

const mayTake = (claim: Claim | undefined, epoch: number): boolean =>
  claim === undefined ? epoch === 1 : claim.state === 'released' && claim.epoch === epoch;

const holds = (claim: Claim | undefined, nonce: string): claim is Claim =>
  claim !== undefined && claim.nonce === nonce && (claim.state === 'claimed' || claim.state === 'started');

/** Done by its holder, and nothing happened: neither now, nor by an earlier attempt that may still arrive. */
const didNothing = (claim: Claim | undefined): claim is Claim =>
  claim?.state === 'done' &&
  claim.outcome?.status === 'error' &&
  claim.outcome.sideEffect === 'none' &&
  claim.doubt !== true &&
  claim.toldBy === undefined;

const resolve = (claim: Claim | undefined, move: Extract<ClaimMove, { type: 'resolve' }>): Claim | undefined => {
  if (claim === undefined || !isUnknown(claim) || move.outcome.status === 'unknown') return undefined;
  if (move.by !== 'person' && underDoubt(claim, move.outcome).status === 'unknown') return undefined;
  return { ...claim, state: 'done', outcome: move.outcome, ...(move.by === undefined ? {} : { toldBy: move.by }) };
};

/** The claim after the move, or undefined where the protocol does not allow it. Absent counts as `released(1)`. */
export const moveClaim = (claim: Claim | undefined, move: ClaimMove): Claim | undefined => {
  switch (move.type) {
    case 'take': {
      const { epoch, sequence, incarnation, nonce } = move;
      if (!mayTake(claim, epoch)) return undefined;
      return { state: 'claimed', epoch, sequence, incarnation, nonce, cancelRequested: false, ...inDoubt(claim) };
    }
    case 'start':
      return holds(claim, move.nonce) && claim.state === 'claimed' && !claim.cancelRequested
        ? { ...claim, state: 'started', intent: move.intent as Claim['intent'] }
        : undefined;
    case 'finish':
      return holds(claim, move.nonce)
        ? { ...claim, state: 'done', outcome: underDoubt(claim, move.outcome) }
        : undefined;
    case 'cancel':
      if (claim === undefined) return { ...blank, state: 'cancelled', epoch: move.epoch, reason: move.reason };
      return claim.state === 'released' || claim.state === 'claimed'
        ? claim.doubt === true
          ? { ...claim, state: 'orphaned' }
          : { ...claim, state: 'cancelled', reason: move.reason }
        : undefined;
    case 'request_cancel':
      return claim?.state === 'started' && !claim.cancelRequested ? { ...claim, cancelRequested: true } : undefined;
    case 'release':
      if (claim === undefined) return { ...blank, state: 'released', epoch: 2 };
      return claim.state === 'claimed' || claim.state === 'released'
        ? { ...blank, ...inDoubt(claim), state: 'released', epoch: claim.epoch + 1 }
        : undefined;
    case 'orphan':
      return claim?.state === 'started' ? { ...claim, state: 'orphaned' } : undefined;
    case 'resolve':
      return resolve(claim, move);
    case 'rerun':
      return claim !== undefined && isUnknown(claim)
        ? {
            ...blank,
            ...(move.because === 'dedupe' ? { doubt: true } : inDoubt(claim)),
            state: 'released',
            epoch: claim.epoch + 1,
          }
        : undefined;
    case 'retry':
      return didNothing(claim) && claim.epoch === move.epoch
        ? { ...blank, state: 'released', epoch: claim.epoch + 1 }
        : undefined;
  }
};

/** Whether a worker may still be at it. */
export const isLive = (claim: Claim | undefined): boolean => claim?.state === 'claimed' || claim?.state === 'started';
