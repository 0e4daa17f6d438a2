import type { Actor, CallRecord, CallState, Claim, Outcome, ResultMessage } from '@toolfabric/contract';

/** For tests: records that a running fabric could hold, and the same with some fields changed. */
export const ACTOR: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };
export const CALL_ID = `2969-${'a'.repeat(26)}`;

export const sampleCall = (changes: Partial<CallRecord> = {}): CallRecord => ({
  callId: CALL_ID,
  actor: ACTOR,
  taskId: `t-${'b'.repeat(26)}`,
  tool: { name: 'notes.add_note', version: '1.0.0', digest: 'digest-1' },
  handler: 'add_note',
  kind: 'cli',
  priority: 'hi',
  effect: 'outside',
  claim: 'required',
  rerunnable: false,
  args: { path: 'a.md' },
  argsHash: 'args-1',
  decision: { policyVersion: 'p-1', rule: 'default.allow', limits: { timeoutMs: 10_000, outputBytes: 4096 } },
  state: 'queued',
  epoch: 1,
  createdAt: 1_000,
  deadline: 61_000,
  ...changes,
});

export const CALL_STATES: readonly CallState[] = [
  'accepted',
  'awaiting_approval',
  'queued',
  'joined',
  'unknown',
  'ok',
  'error',
  'denied',
  'expired',
  'cancelled',
  'dead_letter',
];

export const receipt = (changes: Partial<Outcome> = {}): Outcome => ({
  status: 'ok',
  summary: 'added',
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'note', ref: '7' }],
  ...changes,
});

export const failure = (changes: Partial<Outcome> = {}): Outcome => ({
  status: 'error',
  summary: 'the note was refused',
  sideEffect: 'none',
  trust: 'trusted',
  error: { type: 'tool_failed', layer: 'adapter', message: 'the note was refused', retryable: false },
  ...changes,
});

export const unsure: Outcome = {
  status: 'unknown',
  summary: 'the receipt was lost',
  sideEffect: 'possible',
  trust: 'trusted',
};

export const sampleClaim = (state: Claim['state'], changes: Partial<Claim> = {}): Claim => ({
  state,
  epoch: 2,
  sequence: 40,
  incarnation: 'cli-1',
  nonce: 'mine',
  cancelRequested: false,
  ...changes,
});

export const resultMessage = (outcome: Outcome, epoch: number, by = 'cli-1'): ResultMessage => ({
  callId: CALL_ID,
  tenant: ACTOR.tenant,
  epoch,
  outcome,
  by,
});
