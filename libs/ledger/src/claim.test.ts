import type { Claim } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClaimMove, isLive, moveClaim } from './claim.ts';
import { failure, receipt, sampleClaim, unsure } from './testing/samples.ts';

const released = (epoch: number, changes: Partial<Claim> = {}): Claim =>
  sampleClaim('released', { epoch, sequence: 0, incarnation: '', nonce: '', ...changes });

/** Every state that a claim can stand in; all but `absent` at epoch 2. */
const CLAIMS: Readonly<Record<string, Claim | undefined>> = {
  absent: undefined,
  released: released(2),
  claimed: sampleClaim('claimed'),
  'claimed, cancel asked': sampleClaim('claimed', { cancelRequested: true }),
  started: sampleClaim('started', { intent: { to: 'a.md' } }),
  'started, cancel asked': sampleClaim('started', { intent: { to: 'a.md' }, cancelRequested: true }),
  'done ok': sampleClaim('done', { outcome: receipt() }),
  'done error': sampleClaim('done', { outcome: failure() }),
  'done unknown': sampleClaim('done', { outcome: unsure }),
  cancelled: sampleClaim('cancelled', { reason: 'cancelled' }),
  orphaned: sampleClaim('orphaned', { intent: { to: 'a.md' } }),
};

const take = (epoch: number): ClaimMove => ({
  type: 'take',
  epoch,
  sequence: 41,
  incarnation: 'cli-2',
  nonce: 'new',
});

const WORKER: Readonly<Record<string, ClaimMove>> = {
  'take 1': take(1),
  'take 2': take(2),
  'take 3': take(3),
  start: { type: 'start', nonce: 'mine', intent: { to: 'b.md' } },
  'start by another': { type: 'start', nonce: 'theirs', intent: {} },
  'finish ok': { type: 'finish', nonce: 'mine', outcome: receipt() },
  'finish unknown': { type: 'finish', nonce: 'mine', outcome: unsure },
  'finish by another': { type: 'finish', nonce: 'theirs', outcome: receipt() },
};
const ROUTER: Readonly<Record<string, ClaimMove>> = {
  cancel: { type: 'cancel', epoch: 2, reason: 'expired' },
  request_cancel: { type: 'request_cancel' },
  release: { type: 'release' },
  orphan: { type: 'orphan' },
  'resolve ok': { type: 'resolve', outcome: receipt() },
  'resolve error': { type: 'resolve', outcome: failure() },
  'resolve unknown': { type: 'resolve', outcome: unsure },
  'resolve by person': { type: 'resolve', outcome: failure(), by: 'person' },
  'rerun fence': { type: 'rerun', because: 'fence' },
  'rerun dedupe': { type: 'rerun', because: 'dedupe' },
  'retry 2': { type: 'retry', epoch: 2 },
  'retry 1': { type: 'retry', epoch: 1 },
};
const MOVES = { ...WORKER, ...ROUTER };

/** Protocol 5, row by row: what is not written here is not allowed. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  absent: { 'take 1': 'claimed 1', cancel: 'cancelled 2', release: 'released 2' },
  released: { 'take 2': 'claimed 2', cancel: 'cancelled 2', release: 'released 3' },
  claimed: {
    start: 'started 2',
    'finish ok': 'done 2',
    'finish unknown': 'done 2',
    cancel: 'cancelled 2',
    release: 'released 3',
  },
  'claimed, cancel asked': {
    'finish ok': 'done 2',
    'finish unknown': 'done 2',
    cancel: 'cancelled 2',
    release: 'released 3',
  },
  started: { 'finish ok': 'done 2', 'finish unknown': 'done 2', request_cancel: 'started 2', orphan: 'orphaned 2' },
  'started, cancel asked': { 'finish ok': 'done 2', 'finish unknown': 'done 2', orphan: 'orphaned 2' },
  'done ok': {},
  'done error': { 'retry 2': 'released 3' },
  'done unknown': {
    'resolve ok': 'done 2',
    'resolve error': 'done 2',
    'resolve by person': 'done 2',
    'rerun fence': 'released 3',
    'rerun dedupe': 'released 3',
  },
  cancelled: {},
  orphaned: {
    'resolve ok': 'done 2',
    'resolve error': 'done 2',
    'resolve by person': 'done 2',
    'rerun fence': 'released 3',
    'rerun dedupe': 'released 3',
  },
};

const shown = (claim: Claim | undefined): string => (claim === undefined ? 'no' : `${claim.state} ${claim.epoch}`);

describe('moves of a claim', () => {
  const rows = Object.keys(CLAIMS).flatMap((from) =>
    Object.keys(MOVES).map((move) => [from, move, ALLOWED[from]?.[move] ?? 'no'] as const),
  );

  it.each(rows)('%s, %s: %s', (from, move, to) => {
    const before = structuredClone(CLAIMS[from]);
    expect(shown(moveClaim(CLAIMS[from], MOVES[move] as ClaimMove))).toBe(to);
    expect(CLAIMS[from]).toEqual(before);
  });

  it('the first take makes a claim with the nonce of its holder and nothing else', () => {
    const taken = { state: 'claimed', epoch: 1, sequence: 41, incarnation: 'cli-2', nonce: 'new' };
    expect(moveClaim(undefined, take(1))).toEqual({ ...taken, cancelRequested: false });
    expect(moveClaim(released(3), take(3))).toEqual({ ...taken, epoch: 3, cancelRequested: false });
  });

  it('RE-2: a person ends a claim in doubt, which no receipt without an effect can; it is told who said so', () => {
    for (const state of ['orphaned', 'done'] as const) {
      const doubtful = sampleClaim(state, { doubt: true, ...(state === 'done' ? { outcome: unsure } : {}) });
      expect(moveClaim(doubtful, MOVES['resolve error'] as ClaimMove)).toBeUndefined();
      expect(moveClaim(doubtful, { type: 'resolve', outcome: failure(), by: 'query' })).toBeUndefined();
      expect(moveClaim(doubtful, MOVES['resolve by person'] as ClaimMove)).toMatchObject({
        state: 'done',
        toldBy: 'person',
        outcome: failure(),
      });
    }
  });

  it('is tried again only where nothing happened, and nothing may still happen', () => {
    const done = (changes: Partial<Claim>) => sampleClaim('done', { outcome: failure(), ...changes });
    const retry: ClaimMove = { type: 'retry', epoch: 2 };
    expect(moveClaim(done({ intent: { to: 'a.md' } }), retry)).toEqual(released(3));
    expect(moveClaim(done({ doubt: true }), retry)).toBeUndefined();
    expect(moveClaim(done({ toldBy: 'person' }), retry)).toBeUndefined();
    expect(moveClaim(done({ outcome: failure({ sideEffect: 'possible' }) }), retry)).toBeUndefined();
    expect(moveClaim(done({ outcome: failure({ sideEffect: 'confirmed' }) }), retry)).toBeUndefined();
  });

  it('a person cannot say that it is unknown, nor that a running execution is over', () => {
    const person = { type: 'resolve', outcome: unsure, by: 'person' } as const;
    expect(moveClaim(sampleClaim('orphaned'), person)).toBeUndefined();
    expect(moveClaim(sampleClaim('started'), MOVES['resolve by person'] as ClaimMove)).toBeUndefined();
  });

  it('start keeps the holder and stores what is about to be done', () => {
    expect(moveClaim(CLAIMS['claimed'], MOVES['start'] as ClaimMove)).toEqual(
      sampleClaim('started', { intent: { to: 'b.md' } }),
    );
  });

  it('finish and resolve store the outcome, and keep the intent', () => {
    const done = sampleClaim('done', { intent: { to: 'a.md' }, outcome: receipt() });
    expect(moveClaim(CLAIMS['started'], MOVES['finish ok'] as ClaimMove)).toEqual(done);
    expect(moveClaim(CLAIMS['orphaned'], MOVES['resolve ok'] as ClaimMove)).toEqual(done);
  });

  it.each(['cancelled', 'expired', 'dead_letter'] as const)('cancel says why: %s', (reason) => {
    expect(moveClaim(CLAIMS['claimed'], { type: 'cancel', epoch: 9, reason })).toEqual(
      sampleClaim('cancelled', { reason }),
    );
    expect(moveClaim(undefined, { type: 'cancel', epoch: 1, reason })).toEqual(
      sampleClaim('cancelled', { reason, epoch: 1, sequence: 0, incarnation: '', nonce: '' }),
    );
  });

  it('a released claim knows nothing of its former holder', () => {
    expect(moveClaim(CLAIMS['claimed'], { type: 'release' })).toEqual(released(3));
    expect(moveClaim(CLAIMS['orphaned'], { type: 'rerun', because: 'fence' })).toEqual(released(3));
  });

  it('is live while a worker may be at it', () => {
    const live = Object.keys(CLAIMS).filter((name) => isLive(CLAIMS[name]));
    expect(live).toEqual(['claimed', 'claimed, cancel asked', 'started', 'started, cancel asked']);
  });
});

describe('doubt', () => {
  const doubted = (state: Claim['state'], changes: Partial<Claim> = {}) =>
    sampleClaim(state, { doubt: true, ...changes });

  it('comes with a second run that only the other side makes safe', () => {
    for (const from of ['orphaned', 'done unknown'])
      expect(moveClaim(CLAIMS[from], { type: 'rerun', because: 'dedupe' })).toEqual(released(3, { doubt: true }));
  });

  it.each<[string, Claim, ClaimMove]>([
    ['take', released(2, { doubt: true }), take(2)],
    ['release', doubted('claimed'), { type: 'release' }],
    ['release of what nobody took', released(2, { doubt: true }), { type: 'release' }],
    ['start', doubted('claimed'), MOVES['start'] as ClaimMove],
    ['orphan', doubted('started'), { type: 'orphan' }],
    ['finish', doubted('started'), MOVES['finish ok'] as ClaimMove],
    ['a rerun behind a fence', doubted('orphaned'), { type: 'rerun', because: 'fence' }],
  ])('goes on through %s', (_name, claim, move) => {
    expect(moveClaim(claim, move)).toMatchObject({ doubt: true });
  });

  it('L3: makes an end without an effect unknown', () => {
    const ended = moveClaim(doubted('started'), { type: 'finish', nonce: 'mine', outcome: failure() });
    expect(ended?.outcome).toEqual({
      status: 'unknown',
      summary: `An earlier attempt may still take effect. ${failure().summary}`,
      sideEffect: 'possible',
      trust: 'trusted',
    });
    const long = failure({ summary: 'x'.repeat(4096) });
    const bounded = moveClaim(doubted('claimed'), { type: 'finish', nonce: 'mine', outcome: long });
    expect(bounded?.outcome?.summary).toHaveLength(4096);
  });

  it.each([
    ['a receipt', receipt()],
    ['an error with an effect', failure({ sideEffect: 'possible' })],
  ])('leaves %s as it is', (_name, outcome) => {
    expect(moveClaim(doubted('started'), { type: 'finish', nonce: 'mine', outcome })?.outcome).toEqual(outcome);
    expect(moveClaim(doubted('orphaned'), { type: 'resolve', outcome })?.outcome).toEqual(outcome);
  });

  it('L3: nothing can tell that nothing happened', () => {
    expect(moveClaim(doubted('orphaned'), { type: 'resolve', outcome: failure() })).toBeUndefined();
    expect(moveClaim(doubted('done', { outcome: unsure }), { type: 'resolve', outcome: failure() })).toBeUndefined();
  });

  it('makes a cancel an orphan, since the earlier attempt cannot be taken back', () => {
    for (const claim of [doubted('claimed'), released(2, { doubt: true })])
      expect(moveClaim(claim, { type: 'cancel', epoch: 2, reason: 'cancelled' })).toEqual({
        ...claim,
        state: 'orphaned',
      });
  });
});

describe('any sequence of moves', () => {
  const outcomes = fc.constantFrom(receipt(), failure(), unsure);
  const nonce = fc.constantFrom('a', 'b');
  const move: fc.Arbitrary<ClaimMove> = fc.oneof(
    fc.record({
      type: fc.constant('take' as const),
      epoch: fc.integer({ min: 1, max: 5 }),
      sequence: fc.integer({ min: 1, max: 9 }),
      incarnation: fc.constant('cli-1'),
      nonce,
    }),
    fc.record({ type: fc.constant('start' as const), nonce, intent: fc.constant({ to: 'a.md' }) }),
    fc.record({ type: fc.constant('finish' as const), nonce, outcome: outcomes }),
    fc.record({ type: fc.constant('cancel' as const), epoch: fc.constant(1), reason: fc.constant('expired' as const) }),
    fc.record({ type: fc.constantFrom('request_cancel' as const, 'release' as const, 'orphan' as const) }),
    fc.record({ type: fc.constant('resolve' as const), outcome: outcomes }),
    fc.record({ type: fc.constant('rerun' as const), because: fc.constantFrom('fence' as const, 'dedupe' as const) }),
  );
  const retry = fc.record({ type: fc.constant('retry' as const), epoch: fc.integer({ min: 1, max: 5 }) });
  const isSettled = (claim: Claim | undefined) =>
    claim?.state === 'cancelled' || (claim?.state === 'done' && claim.outcome?.status !== 'unknown');
  const byWorker = (type: ClaimMove['type']) => type === 'take' || type === 'start' || type === 'finish';

  const check = (before: Claim | undefined, step: ClaimMove, after: Claim) => {
    const epoch = before?.epoch ?? 1;
    if (step.type === 'retry') expect(before?.outcome).toMatchObject({ status: 'error', sideEffect: 'none' });
    else expect(isSettled(before)).toBe(false);
    expect(after.epoch).toBeGreaterThanOrEqual(epoch);
    if (byWorker(step.type)) expect(after.epoch).toBe(epoch);
    if (before?.doubt) expect(after.doubt).toBe(true);
    if (before?.state === 'started') expect(['started', 'done', 'orphaned']).toContain(after.state);
    if (after.doubt) expect(after.outcome?.status === 'error' && after.outcome.sideEffect === 'none').toBe(false);
    if (after.state === 'started' && before?.state !== 'started') expect(before?.state).toBe('claimed');
  };

  it('RE-2: raises the epoch by the router alone, forgets no start and no doubt, changes no settled claim', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: move }, retry), { maxLength: 25 }), (moves) => {
        let claim: Claim | undefined;
        for (const step of moves) {
          const after = moveClaim(claim, step);
          if (after === undefined) continue;
          check(claim, step, after);
          claim = after;
        }
      }),
    );
  });
});
