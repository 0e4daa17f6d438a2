import { describe, expect, it } from 'vitest';
import { inspectSchema } from './inspect-schema.ts';
import { SAMPLE_INPUT } from './sample-contract.ts';

const closed = (properties: object, more: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});
const problems = (schema: unknown): string => inspectSchema(schema).join('\n');

describe('inputs that are accepted', () => {
  it.each<[string, object]>([
    ['the sample', SAMPLE_INPUT],
    ['no arguments at all', closed({})],
    ['the dialect named', closed({}, { $schema: 'https://json-schema.org/draft/2020-12/schema' })],
    ['definitions of its own', closed({ a: { $ref: '#/$defs/name' } }, { $defs: { name: { type: 'string' } } })],
    ['one of two fields', closed({ a: { type: 'string' }, b: { type: 'string' } }, { anyOf: [{ required: ['a'] }] })],
    ['a choice of shapes', closed({ a: { oneOf: [{ type: 'string' }, closed({ b: { type: 'integer' } })] } })],
    [
      'a mixed-in shape',
      closed({ a: closed({}, { allOf: [{ $ref: '#/$defs/m' }] }) }, { $defs: { m: { type: 'object' } } }),
    ],
    ['two types', closed({ a: { type: ['string', 'null'] } })],
    [
      'fields named like members of every object',
      closed({ constructor: { type: 'string' }, toString: { type: 'string' } }),
    ],
  ])('%s', (_, schema) => expect(problems(schema)).toBe(''));
});

describe('inputs that are refused', () => {
  it.each<[string, unknown, string]>([
    ['no schema', null, 'must be a JSON Schema object'],
    ['true', true, 'must be a JSON Schema object'],
    ['a list', [], 'must be a JSON Schema object'],
    ['something else than an object', { type: 'string' }, 'set type to object'],
    ['an open object', { type: 'object', additionalProperties: true }, 'set additionalProperties to false'],
    ['an object that says nothing', { type: 'object', properties: {} }, 'set additionalProperties to false'],
    [
      'a nested object that says nothing',
      closed({ a: { type: 'object', properties: {} } }),
      '/properties/a: an object must say',
    ],
    [
      'a required field that is not defined',
      closed({}, { required: ['ghost'] }),
      '"ghost" is required but not defined',
    ],
    ['another dialect', closed({}, { $schema: 'http://json-schema.org/draft-07/schema#' }), '$schema may only be'],
    ['an unknown keyword', closed({ a: { typ: 'string' } }), '"typ" is not supported'],
    [
      'a keyword that nothing asserts',
      closed({ a: { contentMediaType: 'text/html' } }),
      '"contentMediaType" is not supported',
    ],
    ['an identifier', closed({ a: { $id: 'https://example.com/a', type: 'string' } }), '"$id" is not supported'],
    ['an anchor', closed({ a: { $anchor: 'x' } }), '"$anchor" is not supported'],
    ['a dynamic reference', closed({ a: { $dynamicRef: '#x' } }), '"$dynamicRef" is not supported'],
    ['a schema that is none', closed({ a: 'string' }), 'a schema is an object, true or false'],
  ])('%s', (_, schema, problem) => expect(problems(schema)).toContain(problem));

  it.each([
    'https://example.com/schema.json',
    'http://127.0.0.1:1/x',
    'file:///etc/passwd',
    'other.json#/a',
    '#',
    '#/properties/a',
    '#/$defs',
    '#/$defs/a/b',
    '#anchor',
    '',
    7,
  ])('a reference to %j', (reference) => {
    expect(problems(closed({ a: { $ref: reference } }))).toContain('$ref may only name a definition of this schema');
  });

  it.each(['missing', '__proto__', 'constructor'])('a reference to a definition %s that is not there', (name) => {
    expect(problems(closed({ a: { $ref: `#/$defs/${name}` } }, { $defs: {} }))).toContain('$ref names no definition');
  });

  it.each<[string, object]>([
    ['itself', { a: { $ref: '#/$defs/a' } }],
    ['itself in turn', { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }],
    ['itself inside', { a: { type: 'array', items: { $ref: '#/$defs/a' } } }],
  ])('a definition that refers to %s', (_, $defs) => {
    expect(problems(closed({ x: { $ref: '#/$defs/a' } }, { $defs }))).toContain('$ref leads back to itself');
    expect(problems(closed({}, { $defs }))).toContain('$ref leads back to itself');
  });

  it('RT-4: formats that would not be asserted', () => {
    for (const format of ['iban', 'password', 'binary', 'idn-email', 'iri', 'constructor', '', 5]) {
      expect(problems(closed({ a: { type: 'string', format } }))).toContain('is unknown and could not be asserted');
    }
  });

  it.each([
    ['a pattern without a length', { type: 'string', pattern: '^a$' }, 'needs a maxLength'],
    ['a pattern with a huge length', { type: 'string', pattern: '^a$', maxLength: 100_000 }, 'needs a maxLength'],
    ['a back-reference', { type: 'string', pattern: '(a)\\1', maxLength: 9 }, 'linear time'],
    ['a look-ahead', { type: 'string', pattern: '(?=a)', maxLength: 9 }, 'linear time'],
    ['a look-behind', { type: 'string', pattern: '(?<=a)b', maxLength: 9 }, 'linear time'],
    ['no regular expression', { type: 'string', pattern: '([a', maxLength: 9 }, 'not a regular expression'],
    ['a pattern that is long', { type: 'string', pattern: 'a'.repeat(600), maxLength: 9 }, 'longer than'],
    ['a pattern that grows', { type: 'string', pattern: '([a-z]{1,40}[0-9]{1,40}){1,10}', maxLength: 9 }, 'too large'],
    [
      'a pattern of field names',
      { type: 'object', additionalProperties: false, patternProperties: { '(a)\\1': {} } },
      'linear time',
    ],
    ['unique items without a number', { type: 'array', uniqueItems: true }, 'need a maxItems'],
    ['contained items without a number', { type: 'array', contains: { type: 'string' } }, 'need a maxItems'],
    ['many branches', { anyOf: Array.from({ length: 21 }, (_, i) => ({ const: i })) }, 'branches of anyOf'],
    ['a long enumeration', { enum: Array.from({ length: 201 }, (_, i) => i) }, 'enum values'],
  ])('%s', (_, schema, problem) => expect(problems(closed({ a: schema }))).toContain(problem));

  it('deep, large and multiplying schemas', () => {
    let deep: object = { type: 'string' };
    for (let i = 0; i < 50_000; i += 1) deep = { not: deep };
    expect(problems(closed({ a: deep }))).toContain('levels deep');
    expect(problems(closed({ a: { description: 'x'.repeat(20_000) } }))).toContain('larger than');
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    expect(problems(closed({ a: { $ref: '#/$defs/d0' } }, { $defs: { ...$defs, d30: true } }))).toContain(
      'subschemas once',
    );
  });

  it('lists a bounded number of problems, each with its place', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, { nope: 1 }]));
    const listed = inspectSchema(closed(many));
    expect(listed.length).toBe(20);
    expect(listed[0]).toMatch(/^\/properties\/p0: /);
  });
});
