import { canonicalJson } from '@toolfabric/kernel';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTemplate, renderTemplate } from './template.ts';

describe('templates', () => {
  it('take arguments as canonical JSON', () => {
    expect(renderTemplate('{/repo}#{/issue/number}', { repo: 'a/b', issue: { number: 7 } })).toBe('"a/b"#7');
    expect(renderTemplate('{/x}', { x: { b: 1, a: [2] } })).toBe('{"a":[2],"b":1}');
    expect(renderTemplate('{/a~1b}{/c~0d}', { 'a/b': 1, 'c~d': 2 })).toBe('12');
    expect(renderTemplate('{/list/1}', { list: ['a', 'b'] })).toBe('"b"');
  });

  it.each(['{path}', '{', 'a}', '{/a', '{}', '{{/a}}', '/a}'])('%j is refused', (template) =>
    expect(() => parseTemplate(template)).toThrow(expect.objectContaining({ type: 'contract_invalid' })),
  );

  it.each([
    ['/missing', {}],
    ['/a/b', { a: 1 }],
    ['/__proto__', {}],
    ['/constructor/name', {}],
    ['/list/length', { list: [1] }],
    ['/a', null],
    ['/a', 'text'],
  ])('RT-4: %s of %j is a missing argument, named as such', (pointer, args) =>
    expect(() => renderTemplate(`{${pointer}}`, args)).toThrow(
      expect.objectContaining({
        type: 'invalid_arguments',
        details: { fields: [expect.objectContaining({ field: pointer })] },
      }),
    ),
  );

  it('RE-1: different arguments never make one identity', () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(value, value, value, value, (a, b, c, d) => {
        const one = renderTemplate('x{/p}:{/q}', { p: a, q: b });
        const two = renderTemplate('x{/p}:{/q}', { p: c, q: d });
        expect(one === two).toBe(canonicalJson([a, b]) === canonicalJson([c, d]));
      }),
    );
    expect(renderTemplate('{/p}:{/q}', { p: '1:2', q: '3' })).not.toBe(
      renderTemplate('{/p}:{/q}', { p: '1', q: '2:3' }),
    );
  });
});
