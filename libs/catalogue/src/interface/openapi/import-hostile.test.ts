import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { compileInterface } from '../compile-interface.ts';
import { importOpenApi } from './import-openapi.ts';
import { readDocument } from './read-document.ts';

const ID = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } };

const documentOf = (operation: object, schemas: object = {}) => ({
  openapi: '3.1.0',
  paths: {
    '/items/{id}': {
      post: { operationId: 'addItem', summary: 'Adds one item to a list.', parameters: [ID], ...operation },
    },
  },
  components: { schemas },
});
const bodyOf = (schema: unknown) => ({ requestBody: { required: true, content: { 'application/json': { schema } } } });
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });
/** An object with so many fields of the same schema. */
const many = (count: number, schema: unknown) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema])),
});

const toolsOf = (document: object, declared: object = {}) => {
  const head = { interface: 'shop', base: 'https://shop.example.com/api' };
  const overlay = { ...head, operations: [{ from: 'addItem', ...declared }] };
  return compileInterface(importOpenApi(document as never, overlay).document);
};
const refused = (make: () => unknown): string => {
  try {
    make();
    return 'taken';
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(FabricError);
    return (thrown as FabricError).message;
  }
};

describe('WB-4: a document that is made to grow', () => {
  it('by branches that each hold the next ones', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [
        `S${at}`,
        { allOf: Array.from({ length: 15 }, () => refTo(`S${at + 1}`)) },
      ]),
    );
    const whole = { ...schemas, S8: { type: 'object', properties: {} } };
    expect(refused(() => toolsOf(documentOf(bodyOf(refTo('S0')), whole)))).toContain('allOf unfolds to more');
  });

  it('by one value that many references name', () => {
    const big = { Big: { type: 'string', enum: ['x'.repeat(100_000)] } };
    expect(refused(() => toolsOf(documentOf(bodyOf(many(100, refTo('Big'))), big)))).toContain('characters of values');
    const pattern = { Big: { type: 'string', pattern: `^${'a'.repeat(490)}$` } };
    expect(refused(() => toolsOf(documentOf(bodyOf(many(400, refTo('Big'))), pattern)))).toContain(
      'characters of values',
    );
  });

  it('by one text that many references name: only its beginning is read', () => {
    const big = { Big: { type: 'string', description: '\t \u200b'.repeat(2_000_000), example: 'x'.repeat(1_000_000) } };
    const [tool] = toolsOf(documentOf(bodyOf(many(200, refTo('Big'))), big));
    expect(JSON.stringify(tool).length).toBeLessThan(20_000);
  });

  it('by parameters and operations without number', () => {
    const parameters = Array.from({ length: 50_000 }, (_, at) => ({ name: `p${at}`, in: 'query', schema: {} }));
    expect(refused(() => toolsOf(documentOf({ parameters })))).toContain('more than 200 parameters');
    const document = documentOf({});
    const paths = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`/x${at}`, { get: {} }]));
    expect(refused(() => toolsOf({ ...document, paths }))).toContain('more than 2000 operations');
  });

  it('by keys that would each be compared with each other one', () => {
    const text = Array.from({ length: 10_000 }, (_, at) => `k${at}: x`).join('\n');
    expect(Object.keys(readDocument(text, 'd'))).toHaveLength(10_000);
    expect(refused(() => readDocument(`${text}\nk7: y`, 'd'))).toContain('must be unique: k7');
  });
});

describe('WB-4: a document that means something else to another reader', () => {
  it.each([
    ['numbers without an end', 'a: .inf', 'JSON has not'],
    ['half a character', 'a: "\\uD800"', 'JSON has not'],
    ['keys that are lists', '? [1]\n: x', 'plain texts'],
    ['two documents', 'a: 1\n---\na: 2', 'multiple documents'],
    ['aliases', 'a: &a 1\nb: *a', 'Alias'],
    ['no text', '\u0000', 'is no object'],
  ])('by %s', (_, text, why) => {
    expect(refused(() => readDocument(text, 'd'))).toContain(why);
  });

  it('by another version of YAML: it is data of JSON all the same', () => {
    const text = '%YAML 1.1\n---\na: 2001-12-14\nb: !!binary aGVsbG8=\nc: yes\nd: !!set {x, y}\n<<: {e: 1}\n';
    expect(readDocument(text, 'd')).toEqual({
      a: '2001-12-14',
      b: 'aGVsbG8=',
      c: 'yes',
      d: { x: null, y: null },
      '<<': { e: 1 },
    });
  });

  it('by a field that programs take for something else', () => {
    const parameters = [ID, { name: '__proto__', in: 'query', schema: { type: 'string' } }];
    expect(refused(() => toolsOf(documentOf({ parameters })))).toContain('__proto__ cannot be the name');
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as object;
    for (const sent of [schema, { allOf: [schema, { type: 'object', properties: { a: {} } }] }])
      expect(refused(() => toolsOf(documentOf(bodyOf(sent))))).toContain('cannot be called __proto__');
  });

  it('by a path that leads nowhere: the others are not the worse for it', () => {
    const document = documentOf({});
    for (const item of [{ $ref: '#/nowhere' }, { $ref: 'https://evil.example/x' }, 7, null, []])
      expect(toolsOf({ ...document, paths: { ...document.paths, '/x': item } })).toHaveLength(1);
  });
});

describe('WB-4: a header that says more than it seems', () => {
  it.each([
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-Original-Method',
    'X-HTTP-Method-Override',
    'X-Forwarded-User',
    'X-Real-IP',
    'Sec-Fetch-Site',
    'Proxy-Connection',
    'Set-Cookie',
    'Host',
  ])('%s is never an argument', (name) => {
    const header = { name, in: 'header', schema: { type: 'string' } };
    const [tool] = toolsOf(documentOf({ parameters: [ID, header] }));
    expect(Object.keys(tool?.input.properties as object)).toEqual(['id']);
    expect(refused(() => toolsOf(documentOf({ parameters: [ID, { ...header, required: true }] })))).toContain(
      'not an argument',
    );
  });

  it('of an answer is not shown where it would be somebody’s session', () => {
    expect(refused(() => toolsOf(documentOf({}), { show: ['set-cookie'] }))).toContain('holds a secret');
  });
});
