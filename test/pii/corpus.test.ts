import { createRedactor, personalFields } from '@toolfabric/results';
import { describe, expect, it } from 'vitest';
import { measure, readLabels } from './measure.ts';
import { NEGATIVES } from './negatives.ts';
import { POSITIVES } from './positives.ts';

const redactor = createRedactor({ secret: Buffer.alloc(32, 7), tenant: 'acme', rules: ['personal_data'] });
const POSITIVE_TEXTS = Object.values(POSITIVES).flat();

describe('the labelled corpus of personal data', () => {
  const { types, hard, wrong, precision, recall } = measure();

  it('PO-8: nothing is found where nothing is', () => expect(wrong).toEqual([]));

  it('PO-8: what has a form or a check digit of its own is found', () => {
    expect(types.flatMap(({ missed }) => missed)).toEqual([]);
    expect(types.map(({ labelled }) => labelled).every((count) => count >= 9)).toBe(true);
  });

  it('PO-8: states precision and recall, and keeps their floors', () => {
    const found = hard.reduce((sum, score) => sum + score.found, 0);
    const labelled = hard.reduce((sum, score) => sum + score.labelled, 0);
    console.log(
      `personal data: precision ${precision.toFixed(4)}, recall ${recall.toFixed(4)}, hard ${found}/${labelled}`,
    );
    expect(precision).toBeGreaterThanOrEqual(0.98);
    expect(recall).toBeGreaterThanOrEqual(0.97);
    expect(found / labelled).toBeGreaterThanOrEqual(0.2);
  });
});

describe('the rule that keeps it from leaving', () => {
  it.each(POSITIVE_TEXTS)('PO-8: %s loses what is labelled, and nothing else', (source) => {
    const { text, labels } = readLabels(source);
    const redacted = redactor.text(text);
    for (const label of labels) expect(redacted).not.toContain(label);
    expect(redacted).toContain('[redacted:pii:');
    const parts = redacted.split(/\[redacted:pii:[0-9a-f]{8}\]/);
    let at = 0;
    for (const part of parts) {
      expect(text.indexOf(part, at)).toBeGreaterThanOrEqual(at);
      at = text.indexOf(part, at) + part.length;
    }
    expect(personalFields({ deep: [{ text }] }).map(({ pointer }) => pointer)).toEqual(['/deep/0/text']);
  });

  it.each(POSITIVE_TEXTS)('PO-8: %s loses it whichever way it is cut into pieces', (source) => {
    const { text, labels } = readLabels(source);
    const bytes = Buffer.from(`${text}\n`);
    for (let cut = 1; cut < bytes.length; cut += 3) {
      const stream = redactor.stream();
      const out = [stream.push(bytes.subarray(0, cut)), stream.push(bytes.subarray(cut)), stream.end()];
      const redacted = Buffer.concat(out).toString('utf8');
      for (const label of labels) expect(redacted).not.toContain(label);
    }
  });

  it.each(Object.values(NEGATIVES).flat())('leaves alone: %s', (text) => {
    const plain = createRedactor({ secret: Buffer.alloc(32, 7), tenant: 'acme' });
    expect(redactor.text(text)).toBe(plain.text(text));
    expect(personalFields({ text })).toEqual([]);
  });
});
