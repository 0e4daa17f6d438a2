import { describe, expect, it } from 'vitest';
import { compileCondition } from './outcome-condition.ts';

const outcome = {
  summary: '3 of 40 tests failed',
  data: { exit_code: 1, error: '', failures: [{ name: 'a', line: 3 }, { name: 'b' }], nothing: null },
  content: [{ type: 'text' as const, text: 'isError: true' }],
};
const holds = (expression: string, of: Parameters<ReturnType<typeof compileCondition>>[0] = outcome) =>
  compileCondition(expression)(of);

describe('RG-8: a condition over an outcome', () => {
  it.each([
    ['data.exit_code == `1`', true],
    ['data.exit_code == `0`', false],
    ['data.error', false],
    ['!(data.error)', true],
    ['data.failures[0].line > `2` && data.failures[1].name == `"b"`', true],
    ["data.failures[?name == 'b']", true],
    ["data.failures[?name == 'c']", false],
    ['length(data.failures) > `1`', true],
    ["contains(summary, 'failed')", true],
    ["content[?type == 'text'] | [0].text | contains(@, 'isError')", true],
    ['data.missing.deeper', false],
    ['data.nothing', false],
    // 0 is true in JMESPath, so that a number has to be compared.
    ['data.exit_code', true],
  ])('%s is %s', (expression, expected) => {
    expect(holds(expression)).toBe(expected);
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('finds no %s that is not in the data', (name) => {
    expect(holds(`data.${name}`)).toBe(false);
    expect(holds(`data.failures[0].${name}`)).toBe(false);
    expect(holds(`data.${name}`, { summary: '', data: JSON.parse(`{"${name}": 1}`) })).toBe(true);
  });

  it('throws when it cannot be said', () => {
    expect(() => holds('length(data.missing) > `0`')).toThrow();
    expect(() => holds('contains(data.exit_code, `1`)')).toThrow();
  });

  it('an outcome without data and content has none', () => {
    expect(holds('data || content', { summary: 's' })).toBe(false);
  });

  it.each([
    ['status == `200`', 'status is no field of an outcome'],
    ['data.a || isError', 'isError is no field of an outcome'],
    ['length(items) > `1`', 'items is no field'],
    ['!data.error', 'write !(a.b)'],
    ['data ==', 'refused'],
    ['data[', 'refused'],
    ['', 'refused'],
    ['[data, data][]', 'MultiSelectList may not be used'],
    ['{a: data}', 'MultiSelectHash may not be used'],
    ['$.data', 'Root may not be used'],
    ['let $a = data in $a', 'LetExpression may not be used'],
    ['data.a + data.b', 'Arithmetic may not be used'],
    ['map(&a, data.b)', 'function map may not be used'],
    ["pad_left(summary, `1000000000`, 'x')", 'function pad_left may not be used'],
    ['data[?sort_by(@, &a)]', 'function sort_by may not be used'],
    [`data.${'a'.repeat(300)}`, 'longer than 300'],
  ])('%s is refused at publication: %s', (expression, reason) => {
    expect(() => compileCondition(expression)).toThrow(
      expect.objectContaining({ type: 'contract_invalid', message: expect.stringContaining(reason) }),
    );
  });

  it('over the largest outcome ends soon, however it is written', () => {
    const data = Array.from({ length: 20_000 }, (_, i) => [i % 10]);
    const expression = `data${'[][?@]'.repeat(40)}`;
    expect(holds(expression, { summary: '', data })).toBe(false);
  });
});
