import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { importOpenApi } from './import-openapi.ts';
import { MAX_DOCUMENT, readDocument } from './read-document.ts';

const parameter = (name: string, place: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  required: place === 'path',
  schema,
  ...more,
});
const jsonBody = (schema: unknown) => ({ required: true, content: { 'application/json': { schema } } });
const answers = (status: string, schema?: unknown) => ({
  [status]: { description: 'd', ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }) },
});

/** A document with one operation, and what it refers to. */
const documentOf = (operation: object, more: object = {}, method = 'post') => ({
  openapi: '3.1.0',
  info: { title: 't', version: '1' },
  paths: { '/items/{id}': { [method]: { operationId: 'addItem', summary: 'Adds one item to a list.', ...operation } } },
  ...more,
});
const ID = parameter('id', 'path', { type: 'integer' });
const HEAD = { interface: 'shop', base: 'https://shop.example.com/api' };
const importing = (document: object, overlay: object = {}) =>
  importOpenApi(document as never, { ...HEAD, operations: [{ from: 'addItem' }], ...overlay });
const operationOf = (operation: object, more: object = {}, method = 'post') =>
  importing(documentOf({ parameters: [ID], ...operation }, more, method)).document.operations[0];
const refused = (make: () => unknown): string => {
  try {
    make();
    return 'taken';
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(FabricError);
    return (thrown as FabricError).message;
  }
};

describe('WB-4: an operation of an OpenAPI document', () => {
  it('becomes a declared one, with references in place and closed objects in what is sent', () => {
    const schemas = {
      Item: {
        type: 'object',
        required: ['id', 'name', 'price'],
        properties: {
          id: { type: 'string', readOnly: true },
          name: { $ref: '#/components/schemas/Name' },
          price: { type: 'integer', format: 'int32', minimum: 0 },
          secret: { type: 'string', writeOnly: true },
          tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' }, uniqueItems: true },
        },
      },
      Name: { type: 'string', minLength: 1, example: 'Chair', description: 'How it is called.' },
    };
    const operation = operationOf(
      {
        description: 'It stands in the list at once.',
        parameters: [ID, parameter('dry run', 'query', { type: 'boolean' }), parameter('Authorization', 'header', {})],
        requestBody: jsonBody({ $ref: '#/components/schemas/Item' }),
        responses: answers('201', { $ref: '#/components/schemas/Item' }),
      },
      { components: { schemas } },
    );
    expect(operation).toMatchObject({
      name: 'add_item',
      method: 'POST',
      path: '/items/{id}',
      description: 'Adds one item to a list.\nIt stands in the list at once.',
      success: [201],
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
        { name: 'dry run', in: 'query', required: false },
      ],
    });
    expect(operation?.body?.schema).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['name', 'price'],
      properties: {
        name: { type: 'string', minLength: 1, description: 'How it is called.', examples: ['Chair'] },
        price: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
        secret: { type: 'string' },
        tags: {
          type: 'array',
          uniqueItems: true,
          maxItems: 1_000,
          items: { type: 'string', pattern: '^[a-z]+$', maxLength: 4_096 },
        },
      },
    });
    expect(operation?.response).toEqual({
      type: 'object',
      additionalProperties: true,
      required: ['id', 'name', 'price'],
      properties: {
        id: { type: 'string' },
        name: { type: 'string', description: 'How it is called.' },
        price: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' } },
      },
    });
  });

  it('of 3.0 keeps its meaning: nullable, exclusive bounds', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', nullable: true, enum: ['x'] },
        b: { type: 'number', minimum: 0, exclusiveMinimum: true },
      },
    };
    const document = { ...documentOf({ parameters: [ID], requestBody: jsonBody(schema) }), openapi: '3.0.3' };
    const properties = importing(document).document.operations[0]?.body?.schema.properties;
    expect(properties).toEqual({
      a: { type: ['string', 'null'], enum: ['x', null] },
      b: { type: 'number', exclusiveMinimum: 0 },
    });
  });

  it('merges fields that come by allOf, and leaves anything else composed', () => {
    const schemas = { Base: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } } };
    const own = { type: 'object', properties: { b: { type: 'integer' } } };
    const allOf = [{ $ref: '#/components/schemas/Base' }, own];
    const body = operationOf({ requestBody: jsonBody({ allOf }) }, { components: { schemas } })?.body?.schema;
    expect(body).toMatchObject({ additionalProperties: false, required: ['a'] });
    expect(Object.keys(body?.properties as object)).toEqual(['a', 'b']);
  });

  it('knows a version that is expected, and no key of its own', () => {
    const parameters = [
      ID,
      parameter('If-Match', 'header', { type: 'string' }, { required: true }),
      parameter('Idempotency-Key', 'header', { type: 'string' }, { required: true }),
    ];
    const { document, notes } = importing(documentOf({ parameters }));
    expect(document.operations[0]).toMatchObject({ precondition: { header: 'if-match', required: true } });
    expect(document.operations[0]?.parameters).toHaveLength(1);
    expect(notes).toEqual(['addItem: Idempotency-Key: is sent only where key_header names it']);
  });

  it.each([
    [
      'a body of a form',
      { requestBody: { content: { 'multipart/form-data': { schema: {} } } } },
      'its body is not JSON',
    ],
    [
      'bytes in a body',
      { requestBody: jsonBody({ type: 'object', properties: { f: { type: 'string', format: 'binary' } } }) },
      'bytes cannot',
    ],
    [
      'a required cookie',
      { parameters: [ID, parameter('s', 'cookie', {}, { required: true })] },
      'cookies are not sent',
    ],
    [
      'a required deep object',
      { parameters: [ID, parameter('f', 'query', { type: 'object' }, { required: true, style: 'deepObject' })] },
      'the style deepObject',
    ],
    [
      'a required reserved value',
      { parameters: [ID, parameter('f', 'query', { type: 'string' }, { required: true, allowReserved: true })] },
      'reserved',
    ],
    ['an object in the query', { parameters: [ID, parameter('f', 'query', { type: 'object' })] }, 'only plain values'],
    [
      'a required Host',
      { parameters: [ID, parameter('Host', 'header', { type: 'string' }, { required: true })] },
      'not an argument',
    ],
    [
      'a pattern that looks around',
      { parameters: [parameter('id', 'path', { type: 'string', pattern: '(?=a)' })] },
      'linear time',
    ],
    [
      'another document',
      { requestBody: jsonBody({ $ref: 'https://evil.example/x.yaml#/a' }) },
      'only references within it',
    ],
    ['a file', { requestBody: jsonBody({ $ref: './other.yaml' }) }, 'only references within it'],
    ['a reference to nothing', { requestBody: jsonBody({ $ref: '#/components/schemas/No' }) }, 'leads nowhere'],
    ['a reference into a prototype', { requestBody: jsonBody({ $ref: '#/constructor' }) }, 'leads nowhere'],
    ['a keyword that nothing asserts', { requestBody: jsonBody({ type: 'object', if: {} }) }, 'the keyword if'],
    ['a path without its parameter', { parameters: [parameter('x', 'path', {})] }, 'taken'],
  ])('with %s is refused by name where it cannot be expressed', (_, operation, why) => {
    const got = refused(() => importing(documentOf({ parameters: [ID], ...operation })));
    expect(got).toContain(why);
    if (why !== 'taken') expect(got).toMatch(/^addItem: /);
  });

  it('that contains itself is refused in what is sent, and not asserted of an answer', () => {
    const schemas = { Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } } } };
    const more = { components: { schemas } };
    const tree = { $ref: '#/components/schemas/Tree' };
    const sent = documentOf({ parameters: [ID], requestBody: jsonBody(tree) }, more);
    expect(refused(() => importing(sent))).toContain('contains itself');
    const { document, notes } = importing(documentOf({ parameters: [ID], responses: answers('200', tree) }, more));
    expect(document.operations[0]?.response?.properties).toEqual({ child: true });
    expect(notes).toEqual([expect.stringContaining('not checked in an answer')]);
  });

  it('leaves out what need not be sent, and says so', () => {
    const parameters = [
      ID,
      parameter('s', 'cookie', {}),
      parameter('f', 'query', { type: 'object' }, { style: 'deepObject' }),
    ];
    const { document, notes } = importing(documentOf({ parameters }));
    expect(document.operations[0]?.parameters.map(({ name }) => name)).toEqual(['id']);
    expect(notes).toHaveLength(2);
  });

  it('loses text that nobody sees, and is cut', () => {
    const operation = operationOf({ summary: `Adds\u200b \u202eone\u{e0041}\titem.\n\n\n${'x'.repeat(5_000)}` });
    expect(operation?.description).toMatch(/^Adds one item\.\nx{200,}…$/);
    expect(operation?.description.length).toBeLessThanOrEqual(2_000);
  });

  it('sets no risk, address or credential: those are declared', () => {
    const hostile = {
      security: [{ key: [] }],
      servers: [{ url: 'https://evil.example' }],
      'x-risk': 'read',
      risk: 'read',
      requestBody: jsonBody({ type: 'object', properties: {} }),
    };
    expect(operationOf(hostile, { servers: [{ url: 'https://evil.example' }] })).not.toHaveProperty('risk');
    expect(importing(documentOf({ parameters: [ID], ...hostile })).document).toMatchObject(HEAD);
  });
});

describe('WB-4: an OpenAPI document', () => {
  it('is read in 3.0 and 3.1 alone', () => {
    for (const said of [{ openapi: '2.0' }, { openapi: '4.0.0' }, { openapi: undefined, swagger: '2.0' }])
      expect(refused(() => importing({ ...documentOf({}), ...said }))).toContain('only documents of 3.0 and 3.1');
  });

  it('says which operation is not there, or is there twice', () => {
    expect(refused(() => importing(documentOf({}), { operations: [{ from: 'no' }] }))).toBe(
      'no: there is no operation no',
    );
    const twice = documentOf({ parameters: [ID] });
    const paths = { ...twice.paths, '/other': { get: { operationId: 'addItem' } } };
    expect(refused(() => importing({ ...twice, paths }))).toContain('more than one');
    expect(
      importing({ ...twice, paths }, { operations: [{ from: 'POST /items/{id}' }] }).document.operations,
    ).toHaveLength(1);
  });

  it('is bounded in bytes, depth, aliases and in what its references unfold to', () => {
    expect(refused(() => readDocument(`{"a":"${'x'.repeat(MAX_DOCUMENT)}"}`, 'd'))).toContain('larger than');
    expect(refused(() => readDocument('['.repeat(70) + ']'.repeat(70), 'd'))).toContain('nested');
    expect(refused(() => readDocument('a: &a [1]\nb: *a', 'd'))).toContain('Alias');
    expect(refused(() => readDocument('- 1', 'd'))).toContain('is no object');
    expect(refused(() => readDocument('{"a":', 'd'))).toMatch(/^d: /);
    // Each schema holds the next one twice.
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [
        `S${at}`,
        {
          type: 'object',
          properties: {
            a: { $ref: `#/components/schemas/S${at + 1}` },
            b: { $ref: `#/components/schemas/S${at + 1}` },
          },
        },
      ]),
    );
    const more = { components: { schemas: { ...schemas, S30: { type: 'string' } } } };
    const bomb = documentOf({ parameters: [ID], requestBody: jsonBody({ $ref: '#/components/schemas/S0' }) }, more);
    expect(refused(() => importing(bomb))).toContain('more than 1000 schemas');
    const round = { $ref: '#/components/parameters/A' };
    const loop = documentOf({ parameters: [round] }, { components: { parameters: { A: round } } });
    expect(refused(() => importing(loop))).toContain('without an end');
  });
});
