import { FieldError, MAX_ARGUMENT_BYTES } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FORMAT_EXAMPLES } from './asserted-formats.ts';
import { compileInput } from './compile-input.ts';
import { MAX_FIELD_ERRORS } from './field-errors.ts';
import { readPointer } from './json-pointer.ts';

const compile = (properties: object, more: object = {}) =>
  compileInput({ input: { type: 'object', additionalProperties: false, properties, ...more } as never });

const check = compile(
  {
    path: { type: 'string', minLength: 1, maxLength: 100, description: 'Path relative to the workspace.' },
    count: { type: 'integer', minimum: 1, maximum: 10 },
    ratio: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 0.25 },
    mode: { enum: ['read', 'write', 'append'] },
    version: { const: 2 },
    hash: { type: 'string', pattern: '^[0-9a-f]{8}$', maxLength: 8 },
    at: { type: 'string', format: 'date-time' },
    flag: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3, uniqueItems: true },
    range: {
      type: 'object',
      additionalProperties: false,
      required: ['from'],
      properties: { from: { type: 'integer' }, to: { type: 'integer' } },
    },
    where: {
      oneOf: [
        { type: 'integer' },
        { type: 'object', additionalProperties: false, required: ['line'], properties: { line: { type: 'integer' } } },
      ],
    },
    'a/b~c': { type: 'string' },
  },
  { required: ['path'], dependentRequired: { count: ['mode'] } },
);

describe('hostile arguments', () => {
  it('names of built-in members are fields like others', () => {
    const named = compile(
      { constructor: { type: 'string' }, toString: { type: 'string' } },
      { required: ['constructor'] },
    );
    expect(named({}).map(({ field }) => field)).toEqual(['/constructor']);
    expect(named({ constructor: 'a' })).toEqual([]);
    expect(named({ constructor: 'a', hasOwnProperty: 1 }).map(({ field }) => field)).toEqual(['/hasOwnProperty']);
    expect(check(JSON.parse('{"path": "a", "__proto__": {"mode": "x"}}'))[0]?.field).toBe('/__proto__');
  });

  it('many errors are answered with a short list that says so', () => {
    const unknown = check(Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`u${i}`, 1])));
    expect(unknown).toHaveLength(MAX_FIELD_ERRORS);
    expect(unknown.at(-1)?.expected).toContain('more errors than are listed');
  });

  it('a flood of values is answered with the first error, before there are a million', () => {
    const branches = Array.from({ length: 20 }, () => ({
      anyOf: Array.from({ length: 20 }, () => ({ type: 'object' })),
    }));
    const wide = compile({ list: { type: 'array', items: { anyOf: branches } } });
    expect(wide({ list: Array.from({ length: 16_000 }, (_, i) => i) }).length).toBeLessThan(5);
    const some = wide({ list: Array.from({ length: 100 }, (_, i) => i) });
    expect(some.length).toBeGreaterThan(5);
    expect(some.length).toBeLessThanOrEqual(MAX_FIELD_ERRORS);
    expect(check({ path: 'a', tags: Array.from({ length: 15_000 }, (_, i) => i) })).toHaveLength(1);
  });

  it('long names and long lists of values stay short in the answer', () => {
    const wide = compile({ a: { enum: Array.from({ length: 200 }, (_, i) => `value-${'x'.repeat(40)}-${i}`) } });
    const errors = [...wide({ a: 'b' }), ...wide({ ['n'.repeat(30_000)]: 1 })];
    expect(errors).toHaveLength(2);
    for (const error of errors) {
      expect(JSON.stringify(error).length).toBeLessThan(1200);
      expect(FieldError.safeParse(error).success).toBe(true);
    }
  });

  it('never throws, and every answer can be sent', () => {
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 6 }),
      fc.dictionary(
        fc.constantFrom('path', 'count', 'mode', 'tags', 'range', 'where', 'x'),
        fc.jsonValue({ maxDepth: 3 }),
      ),
    );
    fc.assert(
      fc.property(anything, (args) => {
        const errors = check(args);
        expect(errors.length).toBeLessThanOrEqual(MAX_FIELD_ERRORS);
        for (const error of errors) expect(FieldError.safeParse(error).success).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('nesting beyond any limit is one error', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    expect(check({ path: 'a', tags: deep }).length).toBeLessThan(5);
    expect(check(deep)).toHaveLength(1);
  });
});

describe('patterns and formats', () => {
  it('a pattern that would make a backtracking engine stall is matched all the same', () => {
    const evil = compile({ a: { type: 'string', pattern: '^(a+)+$', maxLength: 4096 } });
    expect(evil({ a: `${'a'.repeat(4000)}!` })[0]?.expected).toBe('text that matches ^(a+)+$');
    expect(evil({ a: 'a'.repeat(4000) })).toEqual([]);
    expect(evil({ a: 'a'.repeat(MAX_ARGUMENT_BYTES) }).length).toBeGreaterThan(0);
  });

  it('two patterns of one schema are told apart', () => {
    const two = compile({
      a: { type: 'string', pattern: '^a$', maxLength: 1 },
      b: { type: 'string', pattern: '^b$', maxLength: 1 },
    });
    expect(two({ a: 'a', b: 'b' })).toEqual([]);
    expect(two({ a: 'b', b: 'a' }).map(({ field }) => field)).toEqual(['/a', '/b']);
  });

  it.each(Object.entries(FORMAT_EXAMPLES))('RT-4: %s is asserted', (format, example) => {
    const formatted = compile({ a: { type: 'string', format } });
    expect(formatted({ a: example })).toEqual([]);
    expect(formatted({ a: '\u0000 [(' })[0]?.expected).toContain(example);
    expect(formatted({ a: 'x:'.repeat(16_000) })).toHaveLength(1);
  });
});

describe('schemas that cannot be compiled', () => {
  it.each<[string, object]>([
    ['a type that does not exist', { type: 'text' }],
    ['a limit that is no number', { type: 'string', maxLength: 'many' }],
    ['a negative limit', { type: 'string', minLength: -1 }],
    ['a multiple of nothing', { type: 'number', multipleOf: 0 }],
    ['a required list that is none', { type: 'object', additionalProperties: false, required: 'a' }],
    ['a keyword of another type', { type: 'string', minimum: 1 }],
    ['an unknown format', { type: 'string', format: 'iban' }],
  ])('RT-4: %s is refused as a contract', (_, schema) => {
    expect(() => compile({ a: schema })).toThrow(FabricError);
    expect(() => compile({ a: schema })).toThrow(expect.objectContaining({ type: 'contract_invalid' }));
  });

  it('the dialect may be named', () =>
    expect(compile({}, { $schema: 'https://json-schema.org/draft/2020-12/schema' })({})).toEqual([]));
});

describe('definitions', () => {
  it('are followed, and errors name the argument and not the definition', () => {
    const shared = compile(
      { a: { $ref: '#/$defs/point' }, b: { $ref: '#/$defs/point' } },
      {
        $defs: {
          point: {
            type: 'object',
            additionalProperties: false,
            required: ['x'],
            properties: { x: { type: 'integer' } },
          },
        },
      },
    );
    expect(shared({ a: { x: 1 }, b: { x: 'y' } })).toMatchObject([{ field: '/b/x', expected: 'integer' }]);
  });

  it('the field of an error is where the argument stands', () => {
    const args = { path: 'a', tags: ['x', 5], range: { from: 'z' }, where: 'no' };
    for (const { field } of check(args)) expect(readPointer(args, field)).toBeDefined();
  });
});
