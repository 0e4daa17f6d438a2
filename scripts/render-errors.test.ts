import { readFileSync } from 'node:fs';
import { ERROR_TABLE } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { ERRORS_PAGE, renderErrors } from './render-errors.ts';

describe('docs/errors.md', () => {
  const page = readFileSync(ERRORS_PAGE, 'utf8');

  it('RS-2: is equal to the error table; run `npx node scripts/render-errors.ts` when it is not', () => {
    expect(page).toBe(renderErrors());
  });

  it.each(Object.entries(ERROR_TABLE))(
    'RS-2: has %s once, with its meaning, its hint and whether to retry',
    (type, row) => {
      const rows = page.split('\n').filter((line) => line.startsWith(`| \`${type}\` |`));
      expect(rows).toEqual([`| \`${type}\` | ${row.retryable ? 'yes' : 'no'} | ${row.meaning} | ${row.hint} |`]);
      const above = page.slice(0, page.indexOf(rows[0] ?? ''));
      expect(above.match(/^## (\w+)$/gm)?.at(-1)).toBe(`## ${row.layer}`);
    },
  );
});
