import type { Actor, CallRecord } from '@toolfabric/contract';

export const ADA: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };

/** For tests: a call as a router would accept it, and the same with some fields changed. */
export const sampleCall = (changes: Partial<CallRecord> = {}): CallRecord => ({
  callId: `2969-${'a'.repeat(26)}`,
  actor: ADA,
  taskId: `t-${'b'.repeat(26)}`,
  tool: { name: 'notes.find', version: '1.0.0', digest: 'd' },
  handler: 'notes.find',
  kind: 'cli',
  priority: 'hi',
  effect: 'none',
  claim: 'none',
  rerunnable: true,
  args: { text: 'secret' },
  argsHash: 'h',
  decision: { policyVersion: 'p', rule: 'r', limits: { timeoutMs: 10_000, outputBytes: 4_096 } },
  state: 'queued',
  epoch: 1,
  createdAt: 1_000,
  deadline: 61_000,
  ...changes,
});
