import { describe, expect, it } from 'vitest';
import { compileCheck } from './compile-input.ts';

describe('names in what does not fit', () => {
  it.each([
    'hunter2-ABCDEFGH-99',
    'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
    'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
    'password=hunter2ABCDEFGH',
    `${'x/~'.repeat(30)}ghp_16C7e42F292c6912E7710c838347Ae178B4a`,
  ])('RS-5: a name that is a secret is not told, wherever it stands: %j', (name) => {
    const named = compileCheck(
      {
        type: 'object',
        additionalProperties: false,
        properties: {
          env: { type: 'object', additionalProperties: { type: 'integer' } },
          few: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: true },
          deep: {
            type: 'object',
            additionalProperties: { type: 'object', additionalProperties: true, required: ['a'] },
          },
        },
      },
      'input',
    );
    const shapes = [{ [name]: 1 }, { env: { [name]: 'x' } }, { few: { [name]: 1 } }, { deep: { [name]: {} } }];
    for (const args of shapes) {
      const errors = named(args);
      expect(errors.length, JSON.stringify(args)).toBeGreaterThan(0);
      const text = JSON.stringify(errors);
      for (const part of ['hunter2', 'ABCDEFGH', 'ghp_16C7', '4eC39H']) expect(text).not.toContain(part);
    }
  });

  it('RT-4: names that the schema knows, and plain words that it does not, are told', () => {
    const names = ['expected_sha256_of_file', 'max_results_per_page_2'];
    const known = compileCheck(
      {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      },
      'input',
    );
    expect(known(Object.fromEntries(names.map((name) => [name, 1]))).map(({ field }) => field)).toEqual(
      names.map((name) => `/${name}`),
    );
    expect(known({ recursive_search: 1 })[0]?.field).toBe('/recursive_search');
  });
});
