import { describe, expect, it } from 'vitest';
import { Report, tally } from './tally.ts';

const report = (tests: [string, string][], file = {}, success = true): Report =>
  Report.parse({
    success,
    testResults: [
      {
        name: 'a.test.ts',
        status: 'passed',
        assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
        ...file,
      },
    ],
  });
const none = new Set<string>();

describe('tally', () => {
  it('counts what passed', () => {
    const all: [string, string][] = [
      ['one', 'passed'],
      ['two', 'passed'],
    ];
    expect(tally(report(all), none)).toEqual({ passed: 2, failures: [] });
  });

  it.each(['skipped', 'todo', 'pending', 'disabled'])('takes a test that is %s for a failure', (status) => {
    expect(tally(report([['one', status]]), none)).toEqual({ passed: 0, failures: ['a.test.ts: skipped: one'] });
  });

  it('lets a listed test be skipped, and complains when it runs all the same', () => {
    const allowed = new Set(['one']);
    expect(tally(report([['one', 'skipped']]), allowed).failures).toEqual([]);
    expect(tally(report([['one', 'passed']]), allowed)).toEqual({
      passed: 0,
      failures: ['a.test.ts: listed as skipped, but ran: one'],
    });
  });

  it('counts a failed test, a file without tests, a broken hook and a failure outside every file', () => {
    expect(tally(report([['one', 'failed']], { status: 'failed' }, false), none).failures).toHaveLength(1);
    expect(tally(report([], { status: 'failed', message: 'cannot load' }, false), none).failures).toHaveLength(1);
    expect(tally(report([['one', 'passed']], { status: 'failed' }, false), none).failures).toHaveLength(1);
    expect(tally(report([['one', 'passed']], {}, false), none).failures).toEqual(['the run failed outside the tests']);
  });
});
