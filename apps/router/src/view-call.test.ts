import { CallView, type Claim, type ToolResult } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { errorOutcome, resultOf, unknownOutcome } from '@toolfabric/ledger';
import { describe, expect, it } from 'vitest';
import { sampleCall } from './testing/sample-call.ts';
import { viewCall, viewRefusal } from './view-call.ts';

const NOW = 10_000;
const claim = (state: Claim['state']): Claim => ({
  state,
  epoch: 1,
  sequence: 1,
  incarnation: 'cli-1',
  nonce: 'n',
  cancelRequested: false,
});
const result: ToolResult = resultOf(sampleCall(), errorOutcome('cancelled'), 0);

describe('the view of a call', () => {
  it.each([
    ['queued', undefined, 'queued'],
    ['queued', 'released', 'queued'],
    ['queued', 'claimed', 'running'],
    ['queued', 'started', 'running'],
    ['queued', 'done', 'queued'],
    ['queued', 'cancelled', 'queued'],
    ['queued', 'orphaned', 'queued'],
    ['accepted', 'claimed', 'accepted'],
    ['ok', 'started', 'ok'],
  ] as const)('that is %s, with a claim that is %s: %s', (state, claimState, visible) => {
    const view = viewCall(sampleCall({ state }), claimState && claim(claimState));
    expect(view.state).toBe(visible);
    expect(CallView.safeParse(view).success).toBe(true);
  });

  it('RS-4: shows nothing of its arguments, its claim or the inside of the fabric', () => {
    const text = JSON.stringify(viewCall(sampleCall(), claim('started')));
    expect(JSON.parse(text)).toEqual({
      callId: sampleCall().callId,
      state: 'running',
      taskId: sampleCall().taskId,
      tool: { name: 'notes.find', version: '1.0.0' },
      createdAt: 1_000,
    });
  });

  it('that waits for a person says so in a result, and has not ended', () => {
    const view = viewCall(sampleCall({ state: 'awaiting_approval' }));
    expect(view).toMatchObject({ result: { status: 'needs_approval', sideEffect: 'none', attempt: 0 } });
    expect(view).not.toHaveProperty('settledAt');
  });

  it('that ended carries its result and when', () => {
    const view = viewCall(sampleCall({ state: 'cancelled', settledAt: 9_000, result }));
    expect(view).toMatchObject({ state: 'cancelled', settledAt: 9_000, result });
    expect(view).not.toHaveProperty('reconciling');
  });

  const unknown = sampleCall({
    state: 'unknown',
    settledAt: 9_000,
    result: resultOf(sampleCall(), unknownOutcome('lost'), 1),
  });
  const reconcile = { fence: 'none', windowMs: 1_000 } as const;

  it.each([
    ['within the window of its probe', { ...unknown, reconcile }, true],
    ['left to a person', { ...unknown, reconcile, left: true }, undefined],
    ['without a probe', unknown, undefined],
  ])('RE-2: that is unknown, %s: reconciling %s', (_name, call, reconciling) => {
    expect(viewCall(call).reconciling).toBe(reconciling);
  });
});

describe('the view of a refusal', () => {
  const request = { callId: 'c', taskId: 't', tool: { name: 'a.b', version: '' } };

  it.each([
    ['denied_by_policy', 'denied'],
    ['task_ended', 'denied'],
    ['invalid_arguments', 'error'],
    ['unknown_tool', 'error'],
    ['no_executor', 'error'],
  ] as const)('RS-1: %s: %s, never executed', (type, status) => {
    const view = viewRefusal(request, new FabricError(type, 'why'), NOW);
    expect(view).toMatchObject({
      state: 'refused',
      result: { status, attempt: 0, sideEffect: 'none', error: { type } },
    });
    expect(CallView.safeParse(view).success).toBe(true);
  });

  it('is bounded, whatever the message is', () => {
    const view = viewRefusal(request, new FabricError('too_large', 'x'.repeat(100_000)), NOW);
    expect(CallView.safeParse(view).success).toBe(true);
  });
});
