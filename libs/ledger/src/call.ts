import {
  type CallRecord,
  type CallState,
  type DecisionSummary,
  ERROR_TABLE,
  type ErrorType,
  type Outcome,
  type ProbeAnswerName,
  type ToolResult,
} from '@toolfabric/contract';

/** States that no event changes. `unknown` is an answer, but not among them. */
const FINAL: ReadonlySet<CallState> = new Set(['ok', 'error', 'denied', 'expired', 'cancelled', 'dead_letter']);
export const isFinal = (state: CallState): boolean => FINAL.has(state);
export const isAnswered = (state: CallState): boolean => isFinal(state) || state === 'unknown';

export type CallEvent =
  /** Protocol 3 (4): everything that had to be taken is taken. */
  | {
      readonly type: 'queue' /** Of the policy that was asked again. */;
      readonly policyVersion?: string;
      readonly watermark?: number;
      /** It may not begin after this, in milliseconds since the epoch. */
      readonly until?: number;
    }
  /** Protocol 6: while it waited the policy moved, and says the same or less. */
  | { readonly type: 'decide_again'; readonly decision: DecisionSummary; readonly watermark: number }
  | { readonly type: 'join' }
  /** L5: while a person was asked, the clock of the execution stood still. */
  | { readonly type: 'approve'; readonly at: number }
  /** A new epoch: the execution before it is known not to have started, or its absence is proven under a fence. */
  | { readonly type: 'requeue'; readonly epoch: number }
  /** The execution did nothing and said why, and that passes: the next epoch, not before that time. */
  | { readonly type: 'retry'; readonly epoch: number; readonly notBefore: number; readonly elsewhere: boolean }
  /** The same epoch for anybody: its message was taken back from the pin slot. */
  | { readonly type: 'unpin'; readonly pin: string }
  | { readonly type: 'end'; readonly outcome: Outcome | DeniedOutcome; readonly attempt: number; readonly at: number }
  | {
      readonly type: 'probed';
      readonly asked: number;
      readonly nextAt: number;
      /** Every way out of the present epoch was seen closed before this question. */
      readonly fenced?: boolean;
    }
  /** The n-th question was answered, and nothing follows from it. */
  | { readonly type: 'answered'; readonly n: number; readonly answer: ProbeAnswerName }
  /** Protocol 4: the other side knows nothing of its key, so that it may run for the first time. */
  | { readonly type: 'clear_history' }
  /** The window of the probe is over. Stored before the OPEN entry goes, so that nothing is run again out of sight. */
  | { readonly type: 'leave' }
  | { readonly type: 'late'; readonly epoch: number; readonly status: string };

/** The answer of a person or of the policy after acceptance; never that of a worker. */
export type DeniedOutcome = Omit<Outcome, 'status'> & { readonly status: 'denied' };

/** `cancelled`, `expired` and `dead_letter` are states whose result has status `error` of that type. */
export const stateOfOutcome = (outcome: Outcome | DeniedOutcome): CallState => {
  if (outcome.status !== 'error') return outcome.status;
  const type = outcome.error?.type;
  return type === 'cancelled' || type === 'expired' || type === 'dead_letter' ? type : 'error';
};

export const resultOf = (call: CallRecord, outcome: Outcome | DeniedOutcome, attempt: number): ToolResult => ({
  ...outcome,
  callId: call.callId,
  tool: { name: call.tool.name, version: call.tool.version },
  decision: call.decision,
  attempt,
});

/** An outcome of the router's own making: nothing was done by it. */
export const errorOutcome = (type: ErrorType, message: string = ERROR_TABLE[type].meaning): Outcome => ({
  status: 'error',
  summary: message,
  sideEffect: 'none',
  trust: 'trusted',
  error: {
    type,
    message,
    layer: ERROR_TABLE[type].layer,
    retryable: ERROR_TABLE[type].retryable,
    hint: ERROR_TABLE[type].hint,
  },
});

export const unknownOutcome = (summary: string): Outcome => ({
  status: 'unknown',
  summary,
  sideEffect: 'possible',
  trust: 'trusted',
});

const end = (call: CallRecord, event: Extract<CallEvent, { type: 'end' }>): CallRecord | undefined => {
  const state = stateOfOutcome(event.outcome);
  if (isFinal(call.state) || call.state === state) return undefined;
  const { probe, testCommand, ...rest } = call;
  return {
    ...rest,
    state,
    settledAt: event.at,
    result: resultOf(call, event.outcome, event.attempt),
    ...(state === 'unknown' ? { unknownAt: event.at } : {}),
    // What was to be done is needed again only by a probe or a rerun; a final record keeps the hash of the arguments.
    ...(state === 'unknown' ? { ...(probe && { probe }), ...(testCommand && { testCommand }) } : { args: {} }),
  };
};

const requeue = (call: CallRecord, epoch: number): CallRecord | undefined => {
  if ((call.state !== 'queued' && call.state !== 'unknown') || epoch <= call.epoch || call.left) return undefined;
  const { result, settledAt, probe, pin, notBefore, ...rest } = call;
  // The count of probes goes on over the epochs: an answer to an old question must never fit a new one.
  const asked = probe === undefined ? {} : { probe: { asked: probe.asked, nextAt: 0 } };
  return { ...rest, ...asked, state: 'queued', epoch };
};

const retry = (call: CallRecord, event: Extract<CallEvent, { type: 'retry' }>): CallRecord | undefined => {
  if (call.state !== 'queued' || event.epoch !== call.epoch + 1) return undefined;
  const { pin, ...rest } = call;
  const bound = event.elsewhere || pin === undefined ? {} : { pin };
  return { ...rest, ...bound, epoch: event.epoch, notBefore: event.notBefore };
};

const unpin = (call: CallRecord, from: string): CallRecord | undefined => {
  const { pin, ...rest } = call;
  return call.state === 'queued' && pin === from ? rest : undefined;
};

/** Whether the other side is being asked about it: what became of it, or what it knows of its key. */
export const isAsking = (call: CallRecord): boolean =>
  call.state === 'unknown' || (call.state === 'accepted' && call.history === 'ask');

const clearHistory = ({ probe, ...call }: CallRecord): CallRecord => ({
  ...call,
  history: 'clear',
  ...(probe === undefined ? {} : { probe: { asked: probe.asked, nextAt: 0 } }),
});

/**
 * Each number is given once: of two who ask at once the second has sent nothing, and what it saw of the fence is not said
 * of the question of the first.
 */
const isNext = ({ probe }: CallRecord, asked: number): boolean => asked === (probe?.asked ?? 0) + 1;

/** The first question behind the fence of an epoch is the one that counts from. */
const fencedBy = ({ epoch, probe }: CallRecord, { asked, fenced }: Extract<CallEvent, { type: 'probed' }>) =>
  fenced !== true || probe?.fenced?.epoch === epoch ? {} : { fenced: { epoch, from: asked } };

const decidedBy = ({ decision }: CallRecord, policyVersion = decision.policyVersion): CallRecord['decision'] => ({
  ...decision,
  policyVersion,
});

/** The record after the event, or undefined where the protocol does not allow it (protocol 2). */
export const advanceCall = (call: CallRecord, event: CallEvent): CallRecord | undefined => {
  switch (event.type) {
    case 'queue':
      if (call.state !== 'accepted' && call.state !== 'joined') return undefined;
      return {
        ...call,
        state: 'queued',
        decision: decidedBy(call, event.policyVersion),
        deadline: Math.min(call.deadline, event.until ?? call.deadline),
        ...(event.watermark === undefined ? {} : { watermark: event.watermark }),
      };
    case 'decide_again':
      return call.state === 'queued'
        ? { ...call, decision: event.decision, watermark: event.watermark, decidedAgain: true }
        : undefined;
    case 'join':
      return call.state === 'accepted' ? { ...call, state: 'joined' } : undefined;
    case 'approve':
      return call.state === 'awaiting_approval'
        ? { ...call, state: 'accepted', deadline: call.deadline + Math.max(0, event.at - call.createdAt) }
        : undefined;
    case 'requeue':
      return requeue(call, event.epoch);
    case 'retry':
      return retry(call, event);
    case 'unpin':
      return unpin(call, event.pin);
    case 'end':
      return end(call, event);
    case 'probed':
      return isAsking(call) && isNext(call, event.asked)
        ? { ...call, probe: { ...call.probe, asked: event.asked, nextAt: event.nextAt, ...fencedBy(call, event) } }
        : undefined;
    case 'answered':
      return isAsking(call) && call.probe?.asked === event.n && call.probe.last !== event.answer
        ? { ...call, probe: { ...call.probe, last: event.answer } }
        : undefined;
    case 'clear_history':
      return call.state === 'accepted' && call.history === 'ask' ? clearHistory(call) : undefined;
    case 'leave':
      return call.state === 'unknown' && !call.left ? { ...call, left: true } : undefined;
    case 'late':
      return { ...call, late: [...(call.late ?? []), { epoch: event.epoch, status: event.status }].slice(-8) };
  }
};
