import { describe, expect, it } from 'vitest';
import { recordAttributes } from './call-events.ts';
import { sampleCall } from './testing/sample-call.ts';

describe('what the trace is told of a call', () => {
  it('PO-11: names the account that acts, where one does', () => {
    const call = sampleCall();
    const acting = { ...call, decision: { ...call.decision, account: 'ada@tracker.example.com' } };
    expect(recordAttributes(acting)).toMatchObject({ account: 'ada@tracker.example.com' });
    expect(recordAttributes(call)).not.toHaveProperty('account');
  });
});
