import { type CallRecord, type Claim, MAX_EPOCH, type OpenEntry } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { isFinal } from './call.ts';
import { isLive } from './claim.ts';
import { planSweep, type SweepAction, type SweepFacts } from './sweep.ts';
import { ACTOR, CALL_ID, CALL_STATES, failure, receipt, sampleCall, sampleClaim, unsure } from './testing/samples.ts';

const OPENED = 1_000;
const GRACE = 1_000;
const OLD = OPENED + GRACE;
const LATE = sampleCall().deadline + 1;

const open = (sent?: OpenEntry['sent']): OpenEntry => ({
  callId: CALL_ID,
  actor: ACTOR,
  openedAt: OPENED,
  ...(sent === undefined ? {} : { sent }),
});

const facts = (changes: Partial<SweepFacts> = {}): SweepFacts => ({
  open: open(),
  call: sampleCall({ epoch: 2 }),
  claim: undefined,
  holderDead: false,
  workGone: undefined,
  pinLost: false,
  now: OLD,
  graceMs: GRACE,
  ...changes,
});

const SENT = open({ epoch: 2, sequence: 40 });
const queued = sampleCall({ epoch: 2 });
const readOnly = sampleCall({ epoch: 2, claim: 'none' });
const third = sampleCall({ epoch: MAX_EPOCH });
const reconcile = { fence: 'none', windowMs: 10_000 } as const;
const unknown = sampleCall({ epoch: 2, state: 'unknown', settledAt: OLD, reconcile });
const released = sampleClaim('released');
const claimed = sampleClaim('claimed');
const started = sampleClaim('started');
const PINNED = open({ epoch: 2, sequence: 40, pin: 'p1' });
const pinned = sampleCall({ epoch: 2, pin: 'p1' });
const sentThird = open({ epoch: MAX_EPOCH, sequence: 40 });

describe('what a sweep does about an open call', () => {
  it.each<[string, Partial<SweepFacts>, SweepAction]>([
    ['no call, within the grace', { call: undefined, now: OLD - 1 }, 'wait'],
    ['no call', { call: undefined }, 'abandon'],
    ['terminal, within the grace', { call: sampleCall({ state: 'ok' }), now: OLD - 1 }, 'wait'],
    ['terminal', { call: sampleCall({ state: 'ok' }) }, 'close'],
    ['denied', { call: sampleCall({ state: 'denied' }) }, 'close'],
    ['accepted, within the grace', { call: sampleCall({ state: 'accepted' }), now: OLD - 1 }, 'wait'],
    ['accepted', { call: sampleCall({ state: 'accepted' }) }, 'resume'],
    ['accepted, its key not asked about yet', { call: sampleCall({ state: 'accepted', history: 'ask' }) }, 'resume'],
    [
      'accepted, its key asked about a moment ago',
      { call: sampleCall({ state: 'accepted', history: 'ask', probe: { asked: 1, nextAt: OLD + 1 } }) },
      'wait',
    ],
    [
      'accepted, its key asked about long ago',
      { call: sampleCall({ state: 'accepted', history: 'ask', probe: { asked: 1, nextAt: OLD } }) },
      'resume',
    ],
    [
      'accepted, its key asked about, deadline passed',
      { call: sampleCall({ state: 'accepted', history: 'ask', probe: { asked: 1, nextAt: LATE + 1 } }), now: LATE },
      'expire',
    ],
    ['accepted, its last moment', { call: sampleCall({ state: 'accepted' }), now: LATE - 1 }, 'resume'],
    ['accepted, deadline passed', { call: sampleCall({ state: 'accepted' }), now: LATE }, 'expire'],
    [
      'accepted, within the grace, deadline passed',
      { call: sampleCall({ state: 'accepted', deadline: OPENED }), now: OLD - 1 },
      'expire',
    ],
    ['waiting for a person', { call: sampleCall({ state: 'awaiting_approval' }), now: OPENED }, 'check_approval'],
    ['joined', { call: sampleCall({ state: 'joined' }), now: OPENED }, 'check_operation'],
    ['queued, within the grace', { now: OLD - 1 }, 'wait'],
    ['queued, within the grace, deadline passed', { now: OLD - 1, call: { ...queued, deadline: OPENED } }, 'expire'],
    ['queued, never seen published', {}, 'publish'],
    ['queued, tried again a moment later', { call: { ...queued, notBefore: OLD + 1 } }, 'wait'],
    ['queued, the time of its next try', { call: { ...queued, notBefore: OLD } }, 'publish'],
    ['queued, tried again later than its deadline', { call: { ...queued, notBefore: LATE + 1 }, now: LATE }, 'expire'],
    [
      'queued, tried again later, its claim further by now',
      { call: { ...queued, notBefore: OLD + 1 }, claim: sampleClaim('released', { epoch: 3 }) },
      'publish',
    ],
    ['queued, published at an older epoch', { open: open({ epoch: 1, sequence: 3 }) }, 'publish'],
    ['queued, the claim at the next epoch already', { claim: sampleClaim('released', { epoch: 3 }) }, 'publish'],
    ['queued, its message in the stream', { open: SENT, workGone: false }, 'wait'],
    ['queued, not known whether its message is there', { open: SENT }, 'wait'],
    ['queued, its message gone', { open: SENT, workGone: true }, 'release'],
    ['queued, its message gone, claim released', { open: SENT, workGone: true, claim: released }, 'release'],
    ['queued, gone at the last epoch', { open: sentThird, workGone: true, call: third }, 'dead_letter'],
    ['claimless, its message gone', { open: SENT, workGone: true, call: readOnly }, 'dead_letter'],
    ['pinned, its slot held', { call: pinned, open: PINNED, workGone: false }, 'wait'],
    ['pinned, its slot held, message gone', { call: pinned, open: PINNED, workGone: true }, 'release'],
    [
      'pinned and claimless, its slot held by another, message gone',
      { call: { ...pinned, claim: 'none' }, open: PINNED, workGone: true },
      'unpin',
    ],
    ['pinned, nobody in its slot', { call: pinned, open: PINNED, workGone: false, pinLost: true }, 'unpin'],
    ['pinned, taken back before', { call: pinned, open: PINNED, workGone: true, pinLost: true }, 'unpin'],
    ['pinned, not known where', { call: pinned, pinLost: true }, 'publish'],
    ['pinned, within the grace', { call: pinned, open: PINNED, pinLost: true, now: OLD - 1 }, 'wait'],
    ['pinned, deadline passed', { call: pinned, open: PINNED, pinLost: true, now: LATE }, 'expire'],
    ['pinned and claimed', { call: pinned, open: PINNED, claim: claimed, pinLost: true }, 'wait'],
    ['taken back, not sent again', { call: queued, open: PINNED, workGone: true }, 'publish'],
    ['claimless, taken back, not sent again', { call: readOnly, open: PINNED, workGone: true }, 'publish'],
    ['queued, deadline passed', { open: SENT, workGone: false, now: LATE }, 'expire'],
    ['queued, message gone and deadline passed', { open: SENT, workGone: true, now: LATE }, 'expire'],
    ['claimed', { claim: claimed }, 'wait'],
    ['claimed, message gone', { claim: claimed, open: SENT, workGone: true }, 'wait'],
    ['claimed, deadline passed', { claim: claimed, now: LATE }, 'expire'],
    ['claimed by a dead worker', { claim: claimed, holderDead: true }, 'release'],
    ['claimed by a dead worker, deadline passed', { claim: claimed, holderDead: true, now: LATE }, 'expire'],
    [
      'claimed by a dead worker at the last epoch',
      { claim: sampleClaim('claimed', { epoch: MAX_EPOCH }), call: third, holderDead: true },
      'dead_letter',
    ],
    ['started', { claim: started }, 'wait'],
    ['started, message gone', { claim: started, open: SENT, workGone: true }, 'wait'],
    ['started, deadline passed', { claim: started, now: LATE }, 'expire'],
    ['started, deadline passed, asked', { claim: { ...started, cancelRequested: true }, now: LATE }, 'wait'],
    ['started by a dead worker', { claim: started, holderDead: true }, 'orphan'],
    ['started by a dead worker, deadline passed', { claim: started, holderDead: true, now: LATE }, 'orphan'],
    ['done', { claim: sampleClaim('done', { outcome: receipt() }) }, 'settle'],
    ['cancelled', { claim: sampleClaim('cancelled') }, 'settle'],
    ['orphaned', { claim: sampleClaim('orphaned'), now: LATE }, 'settle'],
    ['unknown, never asked', { call: unknown, claim: sampleClaim('orphaned') }, 'probe'],
    ['unknown, within the grace', { call: unknown, claim: sampleClaim('orphaned'), now: OPENED }, 'probe'],
    ['unknown, asked, too early', { call: { ...unknown, probe: { asked: 1, nextAt: OLD + 1 } } }, 'wait'],
    ['unknown, asked, time for the next', { call: { ...unknown, probe: { asked: 1, nextAt: OLD } } }, 'probe'],
    ['unknown, last moment of the window', { call: unknown, now: OLD + reconcile.windowMs }, 'probe'],
    ['unknown, window over', { call: unknown, now: OLD + reconcile.windowMs + 1 }, 'leave_to_person'],
    ['unknown, nothing can look', { call: sampleCall({ state: 'unknown' }) }, 'leave_to_person'],
    ['unknown, released for a second run', { call: unknown, claim: sampleClaim('released', { epoch: 3 }) }, 'publish'],
    [
      'unknown, the claim was resolved',
      { call: unknown, claim: sampleClaim('done', { outcome: receipt() }) },
      'settle',
    ],
    ['unknown, the worker did not know', { call: unknown, claim: sampleClaim('done', { outcome: unsure }) }, 'probe'],
  ])('RE-3: %s: %3$s', (_name, changes, action) => {
    expect(planSweep(facts(changes))).toBe(action);
  });
});

const product = <T>(lists: { readonly [K in keyof T]: readonly T[K][] }): T[] =>
  (Object.keys(lists) as (keyof T)[]).reduce<T[]>(
    (rows, key) => rows.flatMap((row) => lists[key].map((value) => ({ ...row, [key]: value }))),
    [{} as T],
  );

const CLAIMS: readonly (Claim | undefined)[] = [
  undefined,
  ...[2, MAX_EPOCH].flatMap((epoch) => [
    sampleClaim('released', { epoch }),
    sampleClaim('claimed', { epoch }),
    sampleClaim('started', { epoch }),
    sampleClaim('started', { epoch, cancelRequested: true }),
    sampleClaim('done', { epoch, outcome: receipt() }),
    sampleClaim('done', { epoch, outcome: failure() }),
    sampleClaim('done', { epoch, outcome: unsure }),
    sampleClaim('cancelled', { epoch }),
    sampleClaim('orphaned', { epoch }),
  ]),
];
const CALLS: readonly (CallRecord | undefined)[] = [
  undefined,
  ...product<{ state: CallRecord['state']; epoch: number; claim: CallRecord['claim'] }>({
    state: CALL_STATES,
    epoch: [2, MAX_EPOCH],
    claim: ['none', 'required'],
  }).map((changes) =>
    sampleCall({ ...changes, ...(changes.state === 'unknown' ? { settledAt: OLD, reconcile } : {}) }),
  ),
  sampleCall({ state: 'unknown' }),
  pinned,
  { ...pinned, claim: 'none' },
  { ...unknown, probe: { asked: 1, nextAt: LATE } },
];

const everyCase = product<SweepFacts>({
  open: [open(), open({ epoch: 1, sequence: 3 }), SENT, PINNED, sentThird],
  call: CALLS,
  claim: CLAIMS,
  holderDead: [false, true],
  workGone: [undefined, false, true],
  pinLost: [false, true],
  policyMoved: [false, true],
  now: [OPENED, OLD, LATE],
  graceMs: [GRACE],
});

/** What must be true of the facts wherever an action is planned. */
const SAFE: Readonly<Record<SweepAction, (facts: SweepFacts) => boolean>> = {
  wait: () => true,
  abandon: ({ call, now }) => call === undefined && now >= OLD,
  close: ({ call, now }) => call !== undefined && isFinal(call.state) && now >= OLD,
  resume: ({ call, now }) => call?.state === 'accepted' && now <= call.deadline,
  check_approval: ({ call }) => call?.state === 'awaiting_approval',
  check_operation: ({ call }) => call?.state === 'joined',
  publish: ({ call, claim }) => (call?.state === 'queued' || call?.state === 'unknown') && !isLive(claim),
  unpin: ({ call, claim, open: { sent }, pinLost, workGone, now }) =>
    (pinLost || (workGone === true && call?.claim === 'none' && call.pin !== undefined)) &&
    call?.state === 'queued' &&
    now <= call.deadline &&
    sent?.pin === call.pin &&
    sent?.epoch === call.epoch &&
    !isLive(claim),
  decide_again: ({ call, claim, workGone, policyMoved, now }) =>
    policyMoved === true && workGone === false && call?.state === 'queued' && now <= call.deadline && !isLive(claim),
  settle: ({ claim }) => ['done', 'cancelled', 'orphaned'].includes(claim?.state ?? ''),
  expire: ({ call, now, claim, holderDead }) =>
    call !== undefined &&
    now > call.deadline &&
    (call.state === 'accepted' || (call.state === 'queued' && !(claim?.state === 'started' && holderDead))),
  release: ({ call, claim, holderDead, workGone, now }) =>
    call?.state === 'queued' &&
    now <= call.deadline &&
    (claim?.epoch ?? call.epoch) < MAX_EPOCH &&
    (claim?.state === 'claimed' ? holderDead : !isLive(claim) && workGone === true),
  orphan: ({ claim, holderDead }) => claim?.state === 'started' && holderDead,
  dead_letter: ({ call, claim, holderDead, workGone }) =>
    call?.state === 'queued' &&
    claim?.state !== 'started' &&
    (claim?.state === 'claimed' ? holderDead : workGone === true) &&
    (call.claim === 'none' || (claim?.epoch ?? call.epoch) >= MAX_EPOCH),
  probe: ({ call, claim }) => call?.state === 'unknown' && call.reconcile !== undefined && claim?.state !== 'released',
  leave_to_person: ({ call }) => call?.state === 'unknown',
};

describe('over every combination of facts', () => {
  it('every action is planned somewhere, and no other', () => {
    const planned = new Set(everyCase.map(planSweep));
    expect([...planned].sort()).toEqual(Object.keys(SAFE).sort());
  });

  it.each(Object.keys(SAFE) as SweepAction[])('RE-2: %s is planned only where it is safe', (action) => {
    const broken = everyCase.filter((entry) => planSweep(entry) === action && !SAFE[action](entry));
    expect(broken.slice(0, 3)).toEqual([]);
  });

  it('RE-2: a started execution is neither released nor ended by a sweep', () => {
    const actions = everyCase
      .filter(({ call, claim }) => call?.state === 'queued' && claim?.state === 'started')
      .map(planSweep);
    expect([...new Set(actions)].sort()).toEqual(['expire', 'orphan', 'wait']);
  });
});
