import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callToken,
  checkedKey,
  checkedToken,
  claimBucket,
  deadSubject,
  eventSubject,
  pinnedWorkSubject,
  progressSubject,
  resultSubject,
  settledSubject,
  workStream,
  workSubject,
} from './subjects.ts';

const ID = '2969-0123456789abcdefghjkmnpqrs';

describe('names on the bus', () => {
  it('are the ones of the protocol', () => {
    expect(workSubject('cli', 'lo', 'acme')).toBe('work.cli.lo.acme');
    expect(pinnedWorkSubject('browser', 's01', 'acme')).toBe('work.browser.pin.s01.acme');
    expect(resultSubject('cli-trusted', 'acme', ID, 3)).toBe(`result.cli-trusted.acme.${ID}.3`);
    expect(eventSubject('worker-cli', 'acme')).toBe('event.worker-cli.acme');
    expect(deadSubject('cli', 'acme')).toBe('dead.cli.acme');
    expect(progressSubject('cli', 'acme', ID)).toBe(`progress.cli.acme.${ID}`);
    expect(workStream('cli-trusted')).toBe('WORK_CLI-TRUSTED');
    expect(claimBucket('cli', 3)).toBe('CLAIM_CLI_3');
  });

  it('the suffix of a probe never splits a token, in subjects and keys alike', () => {
    expect(callToken(`${ID}.r12`)).toBe(`${ID}_r12`);
    expect(settledSubject('acme', `${ID}.r1`)).toBe(`settled.acme.${ID}_r1`);
    expect(checkedKey(`claim.cli.1.acme.${ID}.r1`)).toBe(`claim.cli.1.acme.${ID}_r1`);
    expect(checkedKey(`claim.cli.1.acme.${ID}_r1`)).toBe(`claim.cli.1.acme.${ID}_r1`);
  });

  it.each(['', '.', '*', '>', 'a.b', 'a b', 'A', 'a*', 'ä', 'a\n', 'a\r\nPUB', '$JS', 'a'.repeat(129)])(
    'refuse the token %j',
    (token) => {
      expect(() => checkedToken(token)).toThrow(RangeError);
      for (const make of [
        () => workSubject(token, 'hi', 'acme'),
        () => workSubject('cli', 'hi', token),
        () => resultSubject('cli', 'acme', token, 1),
        () => eventSubject(token, 'acme'),
        () => settledSubject(token, ID),
        () => workStream(token),
      ]) {
        expect(make).toThrow(RangeError);
      }
    },
  );

  it.each([1.5, -0.5, Number.NaN, 1e21])('refuse the epoch %d', (epoch) => {
    expect(() => resultSubject('cli', 'acme', ID, epoch)).toThrow(RangeError);
  });

  it('no text whatever gets through that holds a wildcard, a dot too many or white space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (tenant, callId) => {
        let subject: string;
        try {
          subject = resultSubject('cli', tenant, callId, 1);
        } catch (error) {
          return error instanceof RangeError;
        }
        return /^result\.cli\.[a-z0-9_-]+\.[a-z0-9_-]+\.1$/.test(subject);
      }),
    );
  });
});
