import { Outcome } from '@toolfabric/contract';
import { estimateTokens, payloadSize } from '@toolfabric/results';
import { describe, expect, it } from 'vitest';
import { plainRedactor } from './redactor.ts';
import { shapeOutcome } from './shape-outcome.ts';
import { answer, done } from './testing/sample-tools.ts';

const limits = (outputBytes: number, outputTokens?: number) => ({
  timeoutMs: 1_000,
  outputBytes,
  ...(outputTokens === undefined ? {} : { outputTokens }),
});
const words = 'one two three four five six seven\n'.repeat(200);

describe('RS-2: an outcome beyond its budget', () => {
  it('of bytes keeps head and tail, says what it lost, and never what happened', () => {
    const shaped = shapeOutcome(done({ data: { text: words, exit_code: 1 } }), plainRedactor, limits(1_000));
    expect(payloadSize(shaped).bytes).toBeLessThanOrEqual(1_000);
    expect(shaped).toMatchObject({ status: 'ok', sideEffect: 'confirmed', evidence: [{ ref: '7' }] });
    expect(shaped.data).toMatchObject({ exit_code: 1, text: expect.stringMatching(/^one two.*left out.*seven\n$/s) });
    expect(shaped.truncation).toMatchObject([{ stream: 'data/text', total: words.length, unit: 'bytes' }]);
    expect(Outcome.safeParse(shaped).error).toBeUndefined();
  });

  it('of tokens too, though its bytes would fit', () => {
    const outcome = answer({ data: { text: words } });
    expect(shapeOutcome(outcome, plainRedactor, limits(40_000))).toEqual(outcome);
    const shaped = shapeOutcome(outcome, plainRedactor, limits(40_000, 200));
    expect(estimateTokens(JSON.stringify(shaped.data))).toBeLessThanOrEqual(200);
    expect(shaped.truncation?.length).toBeGreaterThan(0);
  });

  it('that is no outcome is thrown', () => {
    expect(() => shapeOutcome({ status: 'fine' }, plainRedactor, limits(100))).toThrow('no valid outcome');
  });
});
