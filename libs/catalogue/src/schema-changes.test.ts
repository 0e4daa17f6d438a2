import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileInput } from './compile-input.ts';
import { inputNarrowings, outputNarrowings } from './schema-changes.ts';
import type { SchemaObject } from './schema-keywords.ts';

const object = (properties: object, more: object = {}): SchemaObject => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});
const changed = (before: object, after: object, more = {}): string[] =>
  inputNarrowings(object({ a: before }), object({ a: after }, more));

/** Built from text: an object literal with this field would look like a promise. */
const conditional = (schema: object): object => JSON.parse(`{"if": {}, "then": ${JSON.stringify(schema)}}`);

describe('inputNarrowings', () => {
  it.each<[string, SchemaObject, SchemaObject]>([
    ['nothing', object({ a: { type: 'string' } }), object({ a: { type: 'string' } })],
    ['a new optional field', object({}), object({ a: { type: 'string' } })],
    ['a field no longer required', object({ a: {} }, { required: ['a'] }), object({ a: {} })],
    ['a wider type', object({ a: { type: 'string' } }), object({ a: { type: ['string', 'null'] } })],
    ['any number for an integer', object({ a: { type: 'integer' } }), object({ a: { type: 'number' } })],
    ['a wider enumeration', object({ a: { enum: [1] } }), object({ a: { enum: [1, 2] } })],
    ['an enumeration opened to its type', object({ a: { enum: ['x'] } }), object({ a: { type: 'string' } })],
    ['wider limits', object({ a: { maxLength: 5, minimum: 2 } }), object({ a: { maxLength: 9, minimum: 1 } })],
    ['a limit that says nothing', object({ a: { type: 'string' } }), object({ a: { type: 'string', minLength: 0 } })],
    ['a dropped pattern', object({ a: { pattern: 'x', maxLength: 2 } }), object({ a: { maxLength: 2 } })],
    [
      'other words',
      object({ a: { description: 'x' } }),
      object({ a: { description: 'y', examples: [1], title: 'z' } }),
    ],
    [
      'a definition put in place',
      object({ a: { $ref: '#/$defs/d' } }, { $defs: { d: { type: 'null' } } }),
      object({ a: { type: 'null' } }),
    ],
    ['a definition nobody uses', object({}, { $defs: { d: { type: 'null' } } }), object({})],
  ])('RG-3: compatible: %s', (_, before, after) => expect(inputNarrowings(before, after)).toEqual([]));

  it.each<[string, string[], string]>([
    ['a removed field', inputNarrowings(object({ a: {} }), object({})), '/a: is refused now'],
    [
      'a new required field',
      inputNarrowings(object({}), object({ a: {} }, { required: ['a'] })),
      '/a: is required now',
    ],
    ['a narrower type', changed({ type: ['string', 'null'] }, { type: 'string' }), '/a: no longer accepts null'],
    ['an integer for a number', changed({ type: 'number' }, { type: 'integer' }), '/a: no longer accepts number'],
    ['a type where there was none', changed({}, { type: 'string' }), '/a: no longer accepts'],
    ['a narrower enumeration', changed({ enum: [1, 2] }, { enum: [1] }), '/a: accepts fewer values'],
    [
      'an enumeration where there was none',
      changed({ type: 'string' }, { enum: ['x'], type: 'string' }),
      '/a: accepts fewer values',
    ],
    [
      'a constant inside an enumeration',
      changed({ enum: [1, 2] }, { enum: [1, 2], const: 1 }),
      '/a: accepts fewer values',
    ],
    ['a lower maximum', changed({ maximum: 9 }, { maximum: 8 }), '/a: maximum was tightened'],
    ['a new limit', changed({ type: 'string' }, { type: 'string', maxLength: 8 }), '/a: maxLength was tightened'],
    ['a higher minimum', changed({ minItems: 1 }, { minItems: 2 }), '/a: minItems was tightened'],
    ['unique items', changed({}, { uniqueItems: true, maxItems: 2 }), '/a: uniqueItems was tightened'],
    [
      'a new pattern',
      changed({ type: 'string' }, { type: 'string', pattern: 'x' }),
      '/a: pattern was added or changed',
    ],
    ['another format', changed({ format: 'uri' }, { format: 'email' }), '/a: format was added or changed'],
    ['a new condition', changed({}, { not: { type: 'null' } }), '/a: not was added or changed'],
    ['a changed branch', changed(conditional({}), conditional({ type: 'null' })), '/a: if was added or changed'],
    [
      'a definition narrowed behind a reference',
      inputNarrowings(
        object({ a: { $ref: '#/$defs/d' } }, { $defs: { d: { type: 'string' } } }),
        object({ a: { $ref: '#/$defs/d' } }, { $defs: { d: { type: 'string', maxLength: 1 } } }),
      ),
      '/a: maxLength was tightened',
    ],
    ['a nested field', changed(object({ b: {} }), object({})), '/a/b: is refused now'],
    [
      'an item',
      changed({ items: { type: ['string', 'null'] } }, { items: { type: 'string' } }),
      '/a/-: no longer accepts null',
    ],
    [
      'a closed object',
      changed({ additionalProperties: true }, { additionalProperties: false }),
      '/a/*: is refused now',
    ],
    [
      'one removed pattern of names',
      changed({ patternProperties: { '^x': {} } }, {}),
      '/a: patternProperties was added',
    ],
  ])('RG-3: incompatible: %s', (_, problems, expected) => expect(problems.join('\n')).toContain(expected));

  it('RG-3: two versions that are called compatible are so for every argument', () => {
    const { pair, args } = versions();
    let compared = 0;
    fc.assert(
      fc.property(pair, fc.array(args, { minLength: 40, maxLength: 40 }), ([before, after], tries) => {
        fc.pre(inputNarrowings(before, after).length === 0);
        const old = compileInput({ input: before as never });
        const now = compileInput({ input: after as never });
        for (const one of tries.filter((candidate) => old(candidate).length === 0)) {
          compared += 1;
          expect(now(one)).toEqual([]);
        }
      }),
      { numRuns: 200 },
    );
    expect(compared).toBeGreaterThan(100);
  });
});

/** Two versions of a schema that differ little, and arguments of which many fit. */
function versions() {
  const limited = (type: string, low: string, high: string) =>
    fc.record({ type: fc.constant(type), [low]: fc.nat(2), [high]: fc.nat(4) }, { requiredKeys: ['type'] });
  const kinds: fc.Arbitrary<object>[] = [
    limited('string', 'minLength', 'maxLength'),
    limited('integer', 'minimum', 'exclusiveMaximum'),
    limited('array', 'minItems', 'maxItems'),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom<unknown>('a', 1, null), { minLength: 1 }) }),
    fc.record({ const: fc.constantFrom('a', 1) }),
    fc.record({ type: fc.uniqueArray(fc.constantFrom('string', 'number', 'integer', 'null'), { minLength: 1 }) }),
    fc.record({ not: fc.constantFrom<unknown>({ type: 'string' }, { const: 1 }) }),
    fc.record({ anyOf: fc.constantFrom<unknown>([{ type: 'string' }], [{ type: 'integer' }, { type: 'null' }]) }),
    fc.record({ type: fc.constant('array'), items: fc.constantFrom({ type: 'string' }, { type: 'integer' }, {}) }),
    fc.constant({}),
  ];
  const same = fc.oneof(...kinds).map((schema) => [schema, schema]);
  const leaf = fc.oneof(
    same,
    ...kinds.map((kind) => fc.tuple(kind, kind)),
    fc.tuple(fc.constant({}), fc.oneof(...kinds)),
  );
  const fields = (inner: fc.Arbitrary<object[]>) =>
    fc
      .tuple(inner, inner, fc.subarray(['a', 'b']), fc.subarray(['a', 'b']), fc.boolean())
      .map(([a, b, old, now, drop]) => [
        object({ a: a[0], b: b[0] }, { required: old }),
        object({ a: a[1], ...(drop && !now.includes('b') ? {} : { b: b[1] }), c: {} }, { required: now }),
      ]);
  const pair = fields(fc.oneof({ weight: 5, arbitrary: leaf }, { weight: 1, arbitrary: fields(leaf) })).map(
    (both) => both as [SchemaObject, SchemaObject],
  );
  const scalar = fc.constantFrom<unknown>('', 'a', 'abcd', 0, 1, 2, 3, 2.5, null);
  const value = fc.oneof(
    scalar,
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b'), scalar),
  );
  return { pair, args: fc.record({ a: value, b: value }, { requiredKeys: [] }) };
}

describe('outputNarrowings', () => {
  const output = object(
    { a: { type: 'string' }, list: { type: 'array', items: object({ b: {} }) } },
    { required: ['a'] },
  );

  it.each<[string, SchemaObject | undefined, SchemaObject | undefined]>([
    ['no schema before', undefined, output],
    ['nothing', output, output],
    ['a new field', output, object({ ...(output['properties'] as object), z: {} }, { required: ['a', 'z'] })],
  ])('RG-3: compatible: %s', (_, before, after) => expect(outputNarrowings(before, after)).toEqual([]));

  it.each<[string, SchemaObject | undefined, string]>([
    ['no schema any more', undefined, '/a: is no longer sure to be there'],
    ['a removed field', object({ a: { type: 'string' } }, { required: ['a'] }), '/list: was removed'],
    [
      'a field that may be missing',
      object({ ...(output['properties'] as object) }),
      '/a: is no longer sure to be there',
    ],
    ['another type', object({ a: { type: 'integer' } }, { required: ['a'] }), '/a: may also be integer now'],
    [
      'a removed field of an item',
      object({ a: { type: 'string' }, list: { type: 'array', items: object({}) } }),
      '/list/-/b: was removed',
    ],
  ])('RG-3: incompatible: %s', (_, after, expected) =>
    expect(outputNarrowings(output, after).join('\n')).toContain(expected),
  );
});
