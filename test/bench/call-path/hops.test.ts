import { describe, expect, it } from 'vitest';
import { hopsOf, type Passed } from './hops.ts';

const CALL = '2969-aaaaaaaaaaaaaaaaaaaaaaaaaa';
const OTHER = '2969-bbbbbbbbbbbbbbbbbbbbbbbbbb';

const passed: readonly Passed[] = [
  { at: 99, subject: 'rpc.router.call', text: 'of the call before' },
  { at: 101, subject: 'rpc.router.call', text: '' },
  { at: 102, subject: `$KV.LEDGER_1.call.1.acme.${OTHER}`, text: '' },
  { at: 103, subject: `$KV.LEDGER_1.call.1.acme.${CALL}`, text: '' },
  { at: 105, subject: '_INBOX_router.x', text: '{"stream":"KV_LEDGER_1","seq":4}' },
  { at: 106, subject: 'work.truth.hi.acme', text: '' },
  { at: 110, subject: `result.truth.acme.${CALL}.1`, text: '' },
  { at: 111, subject: `$KV.LEDGER_1.call.1.acme.${CALL}`, text: '' },
  { at: 113, subject: '_INBOX_router.x', text: '{"stream":"KV_LEDGER_1","seq":5}' },
  { at: 114, subject: `settled.acme.${CALL}`, text: '' },
];

describe('hops', () => {
  it('are the times between the messages of one call, and leave out what the call did not meet', () => {
    const hops = hopsOf(passed, { callId: CALL, began: 100, answered: 120 });
    expect(hops).toEqual([1, 2, 2, 1, 4, 1, 2, 1, 6]);
    const withoutAnswers = passed.filter(({ subject }) => !subject.startsWith('_INBOX'));
    const fewer = hopsOf(withoutAnswers, { callId: CALL, began: 100, answered: 120 });
    expect(fewer).toEqual([1, 2, undefined, 3, 4, 1, undefined, 3, 6]);
    for (const all of [hops, fewer]) expect(all.reduce((sum: number, hop) => sum + (hop ?? 0), 0)).toBe(20);
  });

  it('take no message of another time', () => {
    expect(hopsOf(passed, { callId: CALL, began: 200, answered: 210 }).filter((hop) => hop !== undefined)).toEqual([
      10,
    ]);
  });
});
