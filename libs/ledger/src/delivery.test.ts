import type { Claim } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { judgeDelivery } from './delivery.ts';
import { receipt, sampleClaim, unsure } from './testing/samples.ts';

/** A claim at epoch 2 that was taken with sequence 40. */
const claims: Readonly<Record<string, Claim>> = {
  released: sampleClaim('released', { sequence: 0, incarnation: '', nonce: '' }),
  claimed: sampleClaim('claimed'),
  started: sampleClaim('started'),
  'done ok': sampleClaim('done', { outcome: receipt() }),
  'done unknown': sampleClaim('done', { outcome: unsure }),
  cancelled: sampleClaim('cancelled', { reason: 'cancelled' }),
  orphaned: sampleClaim('orphaned'),
};

const EQUAL: Readonly<Record<string, { same: string; other: string }>> = {
  released: { same: 'take', other: 'take' },
  claimed: { same: 'later', other: 'acknowledge' },
  started: { same: 'later', other: 'acknowledge' },
  'done ok': { same: 'republish', other: 'republish' },
  'done unknown': { same: 'republish', other: 'republish' },
  cancelled: { same: 'acknowledge', other: 'acknowledge' },
  orphaned: { same: 'acknowledge', other: 'acknowledge' },
};

describe('a delivery, by protocol 6', () => {
  const rows = Object.keys(claims).flatMap((state) =>
    [
      ['below', 1, 40, 'acknowledge'],
      ['below', 1, 41, 'acknowledge'],
      ['equal', 2, 40, EQUAL[state]?.same],
      ['equal', 2, 41, EQUAL[state]?.other],
      ['above', 3, 40, 'later'],
      ['above', 3, 41, 'later'],
    ].map(([epochs, epoch, sequence, verdict]) => ({ state, epochs, epoch, sequence, verdict })),
  );

  it.each(rows)('$state, epoch $epochs, sequence $sequence: $verdict', ({ state, epoch, sequence, verdict }) => {
    expect(judgeDelivery({ epoch: Number(epoch), sequence: Number(sequence) }, claims[state])).toBe(verdict);
  });

  it.each(Object.keys(claims).flatMap((state) => [40, 41].map((sequence) => ({ state, sequence }))))(
    'RE-5: of a background call, $state, sequence $sequence: acknowledged where a claim answers for it',
    ({ state, sequence }) => {
      const expected = EQUAL[state]?.same === 'later' ? 'acknowledge' : EQUAL[state]?.same;
      expect(judgeDelivery({ epoch: 2, sequence, background: true }, claims[state])).toBe(expected);
      expect(judgeDelivery({ epoch: 3, sequence, background: true }, claims[state])).toBe('later');
    },
  );

  it.each([
    [1, 'take'],
    [2, 'later'],
    [3, 'later'],
  ])('no claim counts as released at epoch 1: a message of epoch %i is for %s', (epoch, verdict) => {
    expect(judgeDelivery({ epoch, sequence: 7 }, undefined)).toBe(verdict);
  });
});
