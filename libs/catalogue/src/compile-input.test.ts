import type { FieldError } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileInput } from './compile-input.ts';

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
