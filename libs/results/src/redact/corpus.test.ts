import { describe, expect, it } from 'vitest';
import { fillTemplate, seededRandom } from './corpus/fill-template.ts';
import { NEGATIVE } from './corpus/negative.ts';
import { POSITIVE } from './corpus/positive.ts';
import { createRedactor } from './create-redactor.ts';

const ROUNDS = 40;
const redactor = createRedactor({ secret: Buffer.alloc(32, 7), tenant: 'shop' });

interface Score {
  right: number;
  wrong: string[];
}

const shares = (scores: Readonly<Record<string, Score>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(scores).map(([kind, { right, wrong }]) => [kind, right / Math.max(1, right + wrong.length)]),
  );

const scorePositive = (): Record<string, Score> => {
  const random = seededRandom(2026);
  const scores: Record<string, Score> = {};
  for (const [kind, templates] of Object.entries(POSITIVE)) {
    const score: Score = { right: 0, wrong: [] };
    scores[kind] = score;
    for (let round = 0; round < ROUNDS; round += 1)
      for (const template of templates) {
        const { text, secrets } = fillTemplate(template, random);
        const shown = redactor.text(text);
        for (const secret of secrets) {
          if (shown.includes(secret)) score.wrong.push(template);
          else score.right += 1;
        }
      }
  }
  return scores;
};

const scoreNegative = (): Record<string, Score> => {
  const random = seededRandom(2027);
  const scores: Record<string, Score> = {};
  for (const [kind, templates] of Object.entries(NEGATIVE)) {
    const score: Score = { right: 0, wrong: [] };
    scores[kind] = score;
    for (let round = 0; round < ROUNDS; round += 1)
      for (const template of templates) {
        const { text } = fillTemplate(template, random);
        if (redactor.text(text) === text) score.right += 1;
        else score.wrong.push(template);
      }
  }
  return scores;
};

const counted = (wrong: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const template of wrong) counts[template] = (counts[template] ?? 0) + 1;
  return counts;
};

describe('the labelled corpus of secrets', () => {
  const positive = scorePositive();
  const negative = scoreNegative();

  it('RS-5: every secret that has a name or a form of its own is found', () => {
    const { 'random text without a name': random, ...named } = positive;
    expect(counted(Object.values(named).flatMap(({ wrong }) => wrong))).toEqual({});
    expect(random?.right).toBeGreaterThan(0);
  });

  it('RS-5: of random text without a name, nine in ten are found', () => {
    expect(shares(positive)['random text without a name']).toBeGreaterThanOrEqual(0.9);
  });

  it('digests, ids, encoded data, code, prose and other scripts are left alone', () => {
    expect(counted(Object.values(negative).flatMap(({ wrong }) => wrong))).toEqual({});
  });

  it('RS-5: states precision and recall', () => {
    const found = Object.values(positive).reduce((sum, { right }) => sum + right, 0);
    const missed = Object.values(positive).reduce((sum, { wrong }) => sum + wrong.length, 0);
    const harmed = Object.values(negative).reduce((sum, { wrong }) => sum + wrong.length, 0);
    const precision = found / (found + harmed);
    const recall = found / (found + missed);
    console.log(
      `redaction: precision ${precision.toFixed(4)}, recall ${recall.toFixed(4)} of ${found + missed} secrets`,
    );
    expect(precision).toBeGreaterThanOrEqual(0.995);
    expect(recall).toBeGreaterThanOrEqual(0.99);
  });
});
