import { CallRecord, type CallState } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advanceCall,
  type CallEvent,
  type DeniedOutcome,
  errorOutcome,
  isAnswered,
  isFinal,
  resultOf,
  stateOfOutcome,
  unknownOutcome,
} from './call.ts';
import { CALL_STATES, failure, receipt, sampleCall, unsure } from './testing/samples.ts';

const denied: DeniedOutcome = { ...errorOutcome('approval_denied'), status: 'denied' };
const ENDS: Readonly<Record<string, Extract<CallEvent, { type: 'end' }>['outcome']>> = {
  ok: receipt(),
  error: failure(),
  unknown: unsure,
  denied,
  expired: errorOutcome('expired'),
  cancelled: errorOutcome('cancelled'),
  dead_letter: errorOutcome('dead_letter'),
};
const end = (name: string): CallEvent => ({ type: 'end', outcome: ENDS[name] ?? unsure, attempt: 1, at: 5_000 });

const EVENTS: Readonly<Record<string, CallEvent>> = {
  queue: { type: 'queue' },
  join: { type: 'join' },
  approve: { type: 'approve', at: 0 },
  'requeue at the next epoch': { type: 'requeue', epoch: 2 },
  'requeue at the same epoch': { type: 'requeue', epoch: 1 },
  'retry at the next epoch': { type: 'retry', epoch: 2, notBefore: 9_000, elsewhere: false },
  'retry at the same epoch': { type: 'retry', epoch: 1, notBefore: 9_000, elsewhere: false },
  'retry at the epoch after the next': { type: 'retry', epoch: 3, notBefore: 9_000, elsewhere: false },
  probed: { type: 'probed', asked: 1, nextAt: 9_000 },
  late: { type: 'late', epoch: 1, status: 'ok' },
  ...Object.fromEntries(Object.keys(ENDS).map((name) => [`end ${name}`, end(name)])),
};

const everyEnd = Object.fromEntries(Object.keys(ENDS).map((name) => [`end ${name}`, name]));
/** Protocol 2: what is not written here is not allowed. */
const ALLOWED: Partial<Record<CallState, Readonly<Record<string, string>>>> = {
  accepted: { queue: 'queued', join: 'joined', ...everyEnd },
  awaiting_approval: { approve: 'accepted', ...everyEnd },
  joined: { queue: 'queued', ...everyEnd },
  queued: { 'requeue at the next epoch': 'queued', 'retry at the next epoch': 'queued', ...everyEnd },
  unknown: {
    'requeue at the next epoch': 'queued',
    probed: 'unknown',
    ...Object.fromEntries(Object.entries(everyEnd).filter(([, to]) => to !== 'unknown')),
  },
};

describe('events of a call', () => {
  const rows = CALL_STATES.flatMap((from) =>
    Object.keys(EVENTS).map((event) => {
      const to = event === 'late' ? from : (ALLOWED[from]?.[event] ?? 'no');
      return [from, event, to] as const;
    }),
  );

  it.each(rows)('%s, %s: %s', (from, event, to) => {
    const call = sampleCall({ state: from });
    const before = structuredClone(call);
    const after = advanceCall(call, EVENTS[event] as CallEvent);
    expect(after?.state ?? 'no').toBe(to);
    expect(call).toEqual(before);
    if (after) expect(() => CallRecord.parse(after)).not.toThrow();
  });

  it.each(Object.keys(ENDS))('an end as %s carries the whole result', (name) => {
    const after = advanceCall(sampleCall(), end(name));
    const { decision, tool } = sampleCall();
    expect(after?.settledAt).toBe(5_000);
    expect(after?.result).toEqual({
      ...ENDS[name],
      callId: sampleCall().callId,
      tool: { name: tool.name, version: tool.version },
      decision,
      attempt: 1,
    });
  });

  it('a test command leaves a final record, and stays while a probe may still need it', () => {
    const call = { ...sampleCall(), testCommand: { argv: ['node', '--test'], sha256: 'a' } };
    expect(advanceCall(call, end('ok'))).not.toHaveProperty('testCommand');
    expect(advanceCall(call, end('unknown'))?.testCommand).toEqual(call.testCommand);
  });

  it('arguments leave a final record, and stay while a probe may still need them', () => {
    const ended = advanceCall(sampleCall(), end('ok'));
    expect([ended?.args, ended?.argsHash]).toEqual([{}, 'args-1']);
    expect(advanceCall(sampleCall(), end('unknown'))?.args).toEqual(sampleCall().args);
    const settled = advanceCall(sampleCall({ state: 'unknown', probe: { asked: 3, nextAt: 1 } }), end('ok'));
    expect(settled?.args).toEqual({});
    expect(settled).not.toHaveProperty('probe');
  });

  it('RE-2: a second run takes result and end out of the record, and keeps what it needs to run', () => {
    const unknown = advanceCall(sampleCall(), end('unknown')) as CallRecord;
    expect(advanceCall(unknown, { type: 'requeue', epoch: 2 })).toEqual(sampleCall({ epoch: 2, unknownAt: 5_000 }));
    const probed = advanceCall(unknown, { type: 'probed', asked: 1, nextAt: 9_000 }) as CallRecord;
    expect(probed.probe).toEqual({ asked: 1, nextAt: 9_000 });
    const again = sampleCall({ epoch: 2, unknownAt: 5_000, probe: { asked: 1, nextAt: 0 } });
    expect(advanceCall(probed, { type: 'requeue', epoch: 2 })).toEqual(again);
  });

  it('RE-2: what was answered last is kept apart from that it was asked, and an old answer is not', () => {
    const steps: CallEvent[] = [end('unknown'), { type: 'probed', asked: 1, nextAt: 9_000 }];
    const asked = steps.reduce((call, step) => advanceCall(call, step) as CallRecord, sampleCall());
    const answered = (n: number, answer: 'absent' | 'not_visible') => ({ type: 'answered', n, answer }) as const;
    const once = advanceCall(asked, answered(1, 'not_visible')) as CallRecord;
    expect(once.probe).toEqual({ asked: 1, nextAt: 9_000, last: 'not_visible' });
    expect(advanceCall(once, answered(1, 'not_visible'))).toBeUndefined();
    expect(advanceCall(once, answered(2, 'absent'))).toBeUndefined();
    const again = advanceCall(once, { type: 'probed', asked: 2, nextAt: 12_000 }) as CallRecord;
    expect(again.probe).toEqual({ asked: 2, nextAt: 12_000, last: 'not_visible' });
    expect(advanceCall(again, answered(1, 'absent'))).toBeUndefined();
    expect(advanceCall(again, answered(2, 'absent'))?.probe?.last).toBe('absent');
  });

  it('RE-1: a call whose key may be older than what is remembered is asked about, and then runs', () => {
    const fresh = sampleCall({ state: 'accepted', history: 'ask' });
    const asked = advanceCall(fresh, { type: 'probed', asked: 1, nextAt: 9_000 }) as CallRecord;
    expect(asked).toMatchObject({ state: 'accepted', probe: { asked: 1 } });
    const clear = advanceCall(asked, { type: 'clear_history' }) as CallRecord;
    expect(clear).toMatchObject({ state: 'accepted', history: 'clear', probe: { asked: 1, nextAt: 0 } });
    expect(advanceCall(clear, { type: 'clear_history' })).toBeUndefined();
    expect(advanceCall(clear, { type: 'probed', asked: 2, nextAt: 1 })).toBeUndefined();
    expect(advanceCall(sampleCall({ state: 'accepted' }), { type: 'clear_history' })).toBeUndefined();
  });

  it('RE-2: that it was unknown stays in the record when it is known', () => {
    const unknown = advanceCall(sampleCall(), end('unknown')) as CallRecord;
    expect(unknown.unknownAt).toBe(5_000);
    expect(advanceCall(unknown, end('ok'))?.unknownAt).toBe(5_000);
    expect(advanceCall(sampleCall(), end('ok'))).not.toHaveProperty('unknownAt');
  });

  it('RE-2: the numbers of the probes go on over the epochs, and the next one may be asked at once', () => {
    const steps: CallEvent[] = [
      end('unknown'),
      { type: 'probed', asked: 1, nextAt: 9_000 },
      { type: 'requeue', epoch: 2 },
      end('unknown'),
    ];
    const call = steps.reduce((before, step) => advanceCall(before, step) as CallRecord, sampleCall());
    expect(call).toMatchObject({ state: 'unknown', epoch: 2, probe: { asked: 1, nextAt: 0 } });
  });

  it.each([
    ['at once', 1_000, 61_000],
    ['after half an hour', 1_801_000, 1_861_000],
    ['by a clock that is behind', 500, 61_000],
  ])('L5: the time in which a person was asked is added to the deadline: %s', (_name, at, deadline) => {
    const call = sampleCall({ state: 'awaiting_approval' });
    expect(advanceCall(call, { type: 'approve', at })).toEqual({ ...call, state: 'accepted', deadline });
  });

  it.each([0, 1, 2])('an epoch only grows: from 2 not to %i', (epoch) => {
    expect(advanceCall(sampleCall({ epoch: 2 }), { type: 'requeue', epoch })).toBeUndefined();
  });

  it('a retry waits for its time and stays with its worker, unless it has to go elsewhere', () => {
    const call = sampleCall({ pin: 'p1' });
    const event = { type: 'retry', epoch: 2, notBefore: 9_000 } as const;
    const waiting = advanceCall(call, { ...event, elsewhere: false });
    expect(waiting).toEqual({ ...call, epoch: 2, notBefore: 9_000 });
    expect(advanceCall(call, { ...event, elsewhere: true })?.pin).toBeUndefined();
    expect(advanceCall(waiting as CallRecord, { type: 'requeue', epoch: 3 })).toEqual(sampleCall({ epoch: 3 }));
  });

  it('RE-2: of two who ask at once one alone asks, and the other says nothing of the fence of that question', () => {
    const unknown = sampleCall({ state: 'unknown', probe: { asked: 2, nextAt: 0 } });
    const first = advanceCall(unknown, { type: 'probed', asked: 3, nextAt: 9_000 }) as CallRecord;
    expect(advanceCall(first, { type: 'probed', asked: 3, nextAt: 9_500, fenced: true })).toBeUndefined();
    expect(advanceCall(first, { type: 'probed', asked: 2, nextAt: 9_500, fenced: true })).toBeUndefined();
    const second = advanceCall(first, { type: 'probed', asked: 4, nextAt: 9_500, fenced: true });
    expect(second?.probe).toMatchObject({ asked: 4, fenced: { epoch: 1, from: 4 } });
  });

  it('keeps the last eight late results, in order', () => {
    let call = sampleCall({ state: 'ok' });
    for (let epoch = 1; epoch <= 10; epoch += 1)
      call = advanceCall(call, { type: 'late', epoch, status: 'ok' }) as CallRecord;
    expect(call.late?.map(({ epoch }) => epoch)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

describe('any sequence of events', () => {
  const event: fc.Arbitrary<CallEvent> = fc.oneof(
    fc.record({ type: fc.constantFrom('queue' as const, 'join' as const) }),
    fc.record({ type: fc.constant('approve' as const), at: fc.nat() }),
    fc.record({ type: fc.constant('requeue' as const), epoch: fc.integer({ min: 0, max: 6 }) }),
    fc.record({
      type: fc.constant('end' as const),
      outcome: fc.constantFrom(...Object.values(ENDS)),
      attempt: fc.integer({ min: 0, max: 3 }),
      at: fc.integer({ min: 1_000, max: 99_000 }),
    }),
    fc.record({
      type: fc.constant('probed' as const),
      asked: fc.integer({ min: 1, max: 9 }),
      nextAt: fc.constant(9_000),
    }),
    fc.record({
      type: fc.constant('retry' as const),
      epoch: fc.integer({ min: 0, max: 6 }),
      notBefore: fc.constant(9_000),
      elsewhere: fc.boolean(),
    }),
    fc.record({ type: fc.constant('late' as const), epoch: fc.integer({ min: 1, max: 6 }), status: fc.constant('ok') }),
  );
  const start = fc.constantFrom<CallState>('accepted', 'awaiting_approval', 'queued');

  it('RE-3: a final state never changes, nor its result; only late evidence is added (L2)', () => {
    fc.assert(
      fc.property(start, fc.array(event, { maxLength: 30 }), (state, events) => {
        let call = sampleCall({ state });
        for (const step of events) {
          const after = advanceCall(call, step);
          if (after === undefined) continue;
          expect(after.epoch).toBeGreaterThanOrEqual(call.epoch);
          expect(after.deadline).toBeGreaterThanOrEqual(call.deadline);
          if (step.type === 'requeue') expect(after.probe?.asked).toBe(call.probe?.asked);
          if (isFinal(call.state)) {
            expect(step.type).toBe('late');
            expect({ ...after, late: undefined }).toEqual({ ...call, late: undefined });
          }
          expect(isAnswered(after.state)).toBe(after.result !== undefined);
          expect(after.late?.length ?? 0).toBeLessThanOrEqual(8);
          call = after;
        }
      }),
    );
  });
});

describe('outcomes', () => {
  it.each(Object.keys(ENDS))('%s is the state of its outcome', (name) => {
    expect(stateOfOutcome(ENDS[name] ?? unsure)).toBe(name);
  });

  it('RS-1: unknown stays unknown, whatever error it carries', () => {
    const error = errorOutcome('cancelled').error;
    expect(stateOfOutcome({ ...unsure, ...(error ? { error } : {}) })).toBe('unknown');
    expect(stateOfOutcome({ status: 'error', summary: '', sideEffect: 'none', trust: 'trusted' })).toBe('error');
  });

  it('RS-2: an error of the router says what to do, in the layer of its type, and that nothing happened', () => {
    expect(errorOutcome('no_executor')).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'no_executor', layer: 'runtime', retryable: true, hint: expect.stringContaining('executor') },
    });
    expect(errorOutcome('conflict', 'a better message')).toMatchObject({
      summary: 'a better message',
      error: { message: 'a better message' },
    });
    expect(unknownOutcome('lost')).toMatchObject({ status: 'unknown', summary: 'lost', sideEffect: 'possible' });
  });

  it('a result names the tool that ran and the attempt, never its digest', () => {
    expect(resultOf(sampleCall(), receipt(), 3)).toMatchObject({
      attempt: 3,
      tool: { name: 'notes.add_note', version: '1.0.0' },
    });
    expect(resultOf(sampleCall(), receipt(), 3).tool).not.toHaveProperty('digest');
  });

  it('answered is final or unknown', () => {
    expect(CALL_STATES.filter(isFinal)).toEqual(CALL_STATES.slice(5));
    expect(CALL_STATES.filter(isAnswered)).toEqual(CALL_STATES.slice(4));
  });
});
