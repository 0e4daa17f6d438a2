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

const only = (args: unknown): FieldError => {
  const errors = check(args);
  expect(errors).toHaveLength(1);
  return errors[0] as FieldError;
};

describe('errors that a model can repair from', () => {
  it('RT-4: nothing to say about arguments that fit', () => {
    expect(
      check({ path: 'a', ratio: 0.5, mode: 'read', version: 2, hash: '0123abcd', tags: ['a'], range: { from: 1 } }),
    ).toEqual([]);
    expect(check({ path: 'a', where: { line: 3 }, at: '2026-01-31T09:30:00Z', count: 3, mode: 'write' })).toEqual([]);
  });

  it('RT-4: a missing field, with what it is for', () => {
    expect(only({})).toEqual({
      field: '/path',
      expected: 'a required field: string',
      got: 'nothing',
      hint: 'Add "path": Path relative to the workspace.',
    });
    expect(only({ path: 'a', range: {} })).toMatchObject({
      field: '/range/from',
      expected: 'a required field: integer',
    });
    expect(only({ path: 'a', count: 1 })).toMatchObject({ field: '/mode', hint: 'Add "mode".' });
  });

  it('RT-4: an unknown field, with the nearest name or the advice to remove it', () => {
    expect(only({ path: 'a', tag: ['x'] })).toMatchObject({
      field: '/tag',
      got: 'an unknown field (array of 1 item)',
      hint: 'Did you mean "tags"?',
    });
    expect(only({ path: 'a', recursive: true })).toMatchObject({ field: '/recursive', hint: 'Remove this field.' });
    expect(only({ path: 'a', range: { from: 1, til: 2 } }).field).toBe('/range/til');
  });

  it.each([
    [{ count: '5', mode: 'read' }, '/count', 'integer', 'string "5"', 'Send the number without quotes.'],
    [{ flag: 'true' }, '/flag', 'boolean', 'string "true"', 'Send it without quotes.'],
    [{ tags: 'a' }, '/tags', 'array of string', 'string "a"', 'Put the value into an array: [ … ].'],
    [
      { range: '{"from": 1}' },
      '/range',
      'object',
      'string "{\\"from\\": 1}"',
      'Send the JSON itself, not JSON inside a string.',
    ],
    [{ path: null }, '/path', 'string', 'null', 'Path relative to the workspace.'],
    [{ count: 1.5, mode: 'read' }, '/count', 'integer', 'number 1.5', undefined],
  ])('RT-4: a wrong type: %j', (args, field, expected, got, hint) =>
    expect(only({ path: 'a', ...args })).toEqual({ field, expected, got, ...(hint === undefined ? {} : { hint }) }),
  );

  it.each([
    [{ mode: 'raed' }, '/mode', 'one of "read", "write", "append"', 'Did you mean "read"?'],
    [{ version: 3 }, '/version', '2', undefined],
    [{ hash: 'zz' }, '/hash', 'text that matches ^[0-9a-f]{8}$', undefined],
    [{ at: 'yesterday' }, '/at', 'date-time, such as 2026-01-31T09:30:00Z', undefined],
    [{ count: 0, mode: 'read' }, '/count', 'a number of at least 1', undefined],
    [{ count: 11, mode: 'read' }, '/count', 'a number of at most 10', undefined],
    [{ ratio: 0 }, '/ratio', 'a number above 0', undefined],
    [{ ratio: 0.3 }, '/ratio', 'a multiple of 0.25', undefined],
    [{ tags: [] }, '/tags', 'at least 1 items', undefined],
    [{ tags: ['a', 'b', 'c', 'd'] }, '/tags', 'at most 3 items', undefined],
    [{ tags: ['a', 'a'] }, '/tags', 'items that differ', undefined],
    [{ tags: ['a', 7] }, '/tags/1', 'string', undefined],
  ])('RT-4: a value that does not fit: %j', (args, field, expected, hint) =>
    expect(only({ path: 'a', ...args })).toMatchObject({ field, expected, ...(hint === undefined ? {} : { hint }) }),
  );

  it('RT-4: lengths are told as lengths', () => {
    expect(only({ path: '' })).toMatchObject({ expected: 'at least 1 characters', got: '0 characters' });
    expect(only({ path: 'x'.repeat(101) })).toMatchObject({
      expected: 'at most 100 characters',
      got: '101 characters',
    });
  });

  it('RT-4: of several shapes, the errors of the one that was meant', () => {
    const errors = check({ path: 'a', where: { lin: 3 } });
    expect(errors.map(({ field }) => field)).toEqual(['/where/line', '/where/lin', '/where']);
    expect(errors[1]?.hint).toBe('Did you mean "line"?');
    expect(errors[2]?.expected).toContain('exactly one of several shapes: integer; object');
  });

  it('RT-4: fields are JSON pointers', () => expect(only({ path: 'a', 'a/b~c': 1 }).field).toBe('/a~1b~0c'));

  it('RT-4: every error of one try at once', () => {
    const fields = check({ pth: 1, count: 99, mode: 'x', at: '' }).map(({ field }) => field);
    expect(fields).toEqual(expect.arrayContaining(['/path', '/pth', '/count', '/mode', '/at']));
  });

  it.each([null, undefined, 'text', 7, true, [], [1]])('RT-4: %j instead of arguments', (args) =>
    expect(only(args)).toMatchObject({ field: '', expected: 'object' }),
  );
});

describe('what is shown of a value', () => {
  const secret = 'hunter2-hunter2';
  const shown = compile({
    api_token: { type: 'integer' },
    password: { type: 'integer' },
    nested: { type: 'object', additionalProperties: false, properties: { clientSecret: { type: 'integer' } } },
    sealed: { type: 'integer', writeOnly: true },
    plain: { type: 'integer' },
    pin: { enum: ['a'], writeOnly: true },
  });

  it.each([
    { api_token: secret },
    { password: secret },
    { nested: { clientSecret: secret } },
    { sealed: secret },
    { pin: secret },
    { unknown_field: secret },
    { plain: `${secret}${'x'.repeat(40)}` },
    { plain: 'sk0live0ABCDEFGH1234567890' },
    { plain: 'eyJhbGciOiJIUzI1NiJ9.abc-123_x' },
  ])('RT-4: a value that is or may be secret never is: %j', (args) => {
    const text = JSON.stringify(shown(args));
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('ABCDEFGH');
    expect(text).not.toContain('eyJ');
  });

  it('control and direction characters are not passed on', () =>
    expect(shown({ plain: 'a\u202eb\u0000c' })[0]?.got).toBe('string "a?b?c"'));

  it('at most 40 characters of a value, whatever it is', () => {
    const text = fc.string({ minLength: 41, maxLength: 300 });
    fc.assert(
      fc.property(text, (value) => {
        for (const error of shown({ plain: value, [value]: value })) expect(error.got).not.toContain(value);
      }),
    );
  });
});

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
