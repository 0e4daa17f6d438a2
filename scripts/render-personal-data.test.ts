import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PERSONAL_DATA_PAGE, renderPersonalData } from './render-personal-data.ts';

describe('docs/personal-data.md', () => {
  it('PO-8: is what is measured; run `npx node scripts/render-personal-data.ts` when it is not', () => {
    expect(readFileSync(PERSONAL_DATA_PAGE, 'utf8')).toBe(renderPersonalData());
  });
});
