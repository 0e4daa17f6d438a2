import type { RegistryRecord, ToolContract } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { contractDigests, type PublicationReview, reviewPublication } from '../index.ts';
import { compileInterface } from './compile-interface.ts';

const NUMBER = { type: 'integer', minimum: 1, maximum: 999_999, description: 'The number of the issue.' };
const TEXT = { type: 'string', minLength: 1, maxLength: 8_000, description: 'The text of the comment.' };
const path = (name: string, schema: object) => ({ name, in: 'path', schema });

const LIST = {
  name: 'comments',
  method: 'GET',
  path: '/issues/{number}/comments',
  description: 'Lists the comments of one issue, or those of one key.',
  parameters: [path('number', NUMBER), { name: 'key', in: 'query', schema: { type: 'string', maxLength: 200 } }],
};
const ADD = {
  name: 'comment',
  method: 'POST',
  path: '/issues/{number}/comments',
  description: 'Writes a comment to one issue of the tracker.',
  parameters: [path('number', NUMBER)],
  body: {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['body', 'key'],
      properties: { body: TEXT, key: { type: 'string', maxLength: 200, minLength: 1 } },
    },
  },
  success: [200, 201],
  refusals: '4xx',
  id: '/id',
  operation_key: '{/number} {/key}',
  reconcile: {
    operation: 'comments',
    arguments: { number: '{/number}', key: '{/key}' },
    id: 'data.body.comments[0].id',
    absent: 'data.body.complete',
  },
};
const DELETE = {
  name: 'remove',
  method: 'DELETE',
  path: '/issues/{number}',
  description: 'Removes one issue of the tracker for good.',
  parameters: [path('number', NUMBER)],
  success: [204],
  reconcile: 'person',
  precondition: { required: true },
};
const HEAD = {
  interface: 'tracker',
  base: 'https://tracker.example.com:8443/api/v1',
  test_base: 'http://127.0.0.1:4000',
  credential: 'user:tracker',
  key_header: 'idempotency-key',
};
const compiled = (operations: object[], head: object = {}, options = {}) =>
  compileInterface({ ...HEAD, ...head, operations }, options);
const only = (operation: object, head: object = {}): ToolContract => compiled([operation], head)[0] as ToolContract;

const review = (contracts: readonly ToolContract[]): PublicationReview['problems'] => {
  const published: RegistryRecord[] = [];
  return contracts.flatMap((contract) => {
    const { problems } = reviewPublication(contract, published);
    published.push({ contract, state: 'published', ...contractDigests(contract) });
    return problems;
  });
};
/** Publication of what the fabric does not enforce yet is not the matter here. */
const problemsOf = (contracts: readonly ToolContract[]) =>
  review(contracts).filter(({ message }) => !message.includes('nothing enforces this yet'));

describe('WB-4: the tools of a declared interface', () => {
  it('can be published, reads first', () => {
    const contracts = compiled([ADD, DELETE, LIST]);
    expect(contracts.map(({ name }) => name)).toEqual(['tracker.comments', 'tracker.comment', 'tracker.remove']);
    expect(problemsOf(contracts)).toEqual([]);
  });

  it('PO-11: is refused over http with a credential, but for a host that is named by its addresses', () => {
    const inside = { base: 'http://tracker.internal.example:8080', addresses: ['10.1.0.0/16'] };
    const messages = (head: object) => problemsOf([only(LIST, head)]).map(({ message }) => message);
    expect(messages({ ...inside, addresses: undefined })).toEqual([expect.stringContaining('over http a credential')]);
    expect(messages(inside)).toEqual([]);
    expect(messages({ ...inside, addresses: undefined, credential: undefined })).toEqual([]);
  });

  it('say method and address of a read, too, since a person may be asked about one', () => {
    const [read] = compiled([LIST]);
    expect(read?.governance.preview).toBe('GET https://tracker.example.com:8443/api/v1/issues/{/number}/comments');
    expect(only({ ...LIST, preview: 'looks at {/number}' }).governance.preview).toBe('looks at {/number}');
  });

  it('hold the whole operation, so that their digest covers it', () => {
    const contract = only(ADD);
    expect(contract.execution).toMatchObject({
      adapter: 'web',
      handler: 'http.request',
      network: 'permit',
      options: {
        base: HEAD.base,
        method: 'POST',
        path: '/issues/{number}/comments',
        body: { fields: ['body', 'key'] },
        success: [200, 201],
        key_header: 'idempotency-key',
        id: '/id',
      },
      egress: {
        rules: [
          {
            host: 'tracker.example.com',
            scheme: 'https',
            ports: [8443],
            methods: ['POST'],
            paths: ['/api/v1/issues'],
            credential: 'user:tracker',
          },
        ],
      },
    });
    const changed = only({ ...ADD, success: [201] });
    expect(contractDigests(changed).digest).not.toBe(contractDigests(contract).digest);
    expect(contractDigests(changed).modelDigest).toBe(contractDigests(contract).modelDigest);
  });

  it('RE-2: are effects outside for every method but a safe one', () => {
    expect(only(LIST).governance).toMatchObject({ risk: 'read', idempotent: true });
    for (const method of ['POST', 'PUT', 'PATCH'])
      expect(only({ ...ADD, method }).governance).toMatchObject({ risk: 'external_write', idempotent: false });
    expect(only(DELETE).governance).toMatchObject({
      risk: 'irreversible',
      operation_key: '{/number}',
      precondition: '/etag',
      preview: 'DELETE https://tracker.example.com:8443/api/v1/issues/{/number}',
      reconcile: { by: 'probe', fence: 'none', window_ms: 0 },
    });
    expect(only({ ...DELETE, risk: 'external_write' }).governance.risk).toBe('external_write');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('are not published when a document calls %s a read', (method) => {
    const lied = only({ ...ADD, method, risk: 'read', reconcile: undefined, operation_key: undefined });
    expect(problemsOf([lied]).map(({ message }) => message)).toEqual([
      `governance.risk: ${method} changes the other side: it is an external_write at least`,
    ]);
  });

  it('ask another operation what became of a write, or a person', () => {
    expect(only(ADD).governance.reconcile).toMatchObject({
      by: 'query',
      fence: 'none',
      query: { tool: 'tracker.comments@1.0.0', absent: 'data.body.complete' },
    });
    expect(only(ADD, { deduplicates: true }).governance.reconcile).toMatchObject({ fence: 'dedupe' });
    const silent = only({ ...ADD, reconcile: undefined });
    expect(problemsOf([silent]).map(({ message }) => message)).toContain(
      'governance.reconcile: needed for an outside effect that is not idempotent',
    );
    const keyless = only({ ...ADD, key: false, reconcile: { ...ADD.reconcile, fence: 'dedupe' } });
    expect(problemsOf([...compiled([LIST]), keyless]).map(({ message }) => message)).toContain(
      'governance.reconcile.fence: without key_header the other side cannot know a repeated request',
    );
  });

  it('go to the test address instead when that is asked for', () => {
    const [contract] = compiled([LIST], {}, { test: true });
    expect(contract?.execution.options.base).toBe('http://127.0.0.1:4000');
    expect(contract?.execution.egress?.rules[0]).toMatchObject({ host: '127.0.0.1', scheme: 'http', ports: [4000] });
    expect(() => compiled([LIST], { test_base: undefined }, { test: true })).toThrow('names no test address');
  });

  it('take a body as one argument where its fields cannot stand beside the others', () => {
    const taken = {
      ...ADD,
      parameters: [path('number', NUMBER), { name: 'key', in: 'query', schema: { type: 'string' } }],
    };
    expect(only(taken).execution.options.body).toEqual({ argument: 'body' });
    const open = { ...ADD, body: { schema: { ...ADD.body.schema, additionalProperties: true } } };
    expect(only(open).execution.options.body).toEqual({ argument: 'body' });
    const optional = { ...ADD, body: { ...ADD.body, required: false } };
    expect(only(optional).input).toMatchObject({ required: ['number'], properties: { body: { type: 'object' } } });
    expect(() => only({ ...taken, body: { ...ADD.body, as: 'fields' } })).toThrow('cannot stand beside');
  });

  it.each([
    [
      'two values would be the argument',
      { parameters: [path('number', NUMBER), { name: 'number', in: 'query', schema: {} }] },
    ],
    ['is not declared', { parameters: [] }],
    ['is not in the path', { parameters: [path('number', NUMBER), path('other', NUMBER)] }],
    [
      'says how a message travels',
      { parameters: [path('number', NUMBER), { name: 'Host', in: 'header', schema: {} }] },
    ],
    [
      'cannot be the name of an argument',
      { parameters: [path('number', NUMBER), { name: 'x', in: 'query', argument: '{y}', schema: {} }] },
    ],
    ['a path of plain segments', { path: '/a/../{number}' }],
  ])('say by name that %s', (why, change) => {
    expect(() => only({ ...LIST, ...change })).toThrow(why);
    expect(() => only({ ...LIST, ...change })).toThrow(/^.*(comments|operations\.0)/);
  });

  it('are refused when one name stands twice', () => {
    expect(() => compiled([LIST, LIST])).toThrow('stands here twice');
  });

  it('ask for examples where none can be made up', () => {
    const odd = { ...LIST, parameters: [path('number', { type: 'string', pattern: '^\\d{9}$', maxLength: 9 })] };
    expect(problemsOf([only(odd)]).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^capability\.examples\.0\/number: expected/),
    ]);
    const told = { ...odd, examples: [{ arguments: { number: '123456789' } }] };
    expect(problemsOf([only(told)])).toEqual([]);
  });
});

describe('publication of http.request', () => {
  const contract = only(LIST);
  const changed = (execution: object, input = contract.input) =>
    problemsOf([{ ...contract, input, execution: { ...contract.execution, ...execution } }]).map(
      ({ message }) => message,
    );
  const options = contract.execution.options;

  it('refuses an operation that is none, or whose host is not permitted', () => {
    expect(changed({ options: {} })).toEqual([expect.stringMatching(/^execution\.options\.\w+: /)]);
    expect(changed({ options: { ...options, method: 'BREW' } })).toEqual([
      expect.stringMatching(/^execution\.options\.method/),
    ]);
    const none = 'execution.egress.rules: none of them lets the operation out';
    expect(changed({ egress: undefined })).toEqual(['execution.egress: needed where network is permit', none]);
    expect(changed({ options: { ...options, base: 'https://other.example.com' } })).toEqual([none]);
    expect(changed({ options: { ...options, method: 'HEAD' } })).toEqual([none]);
  });

  it('refuses arguments that are sent nowhere or twice, and a part of a path that may be left out', () => {
    expect(changed({ options: { ...options, query: [] } })).toEqual(['input.properties.key: is sent nowhere']);
    expect(
      changed({
        options: {
          ...options,
          query: [
            { name: 'a', argument: 'number' },
            { name: 'k', argument: 'key' },
          ],
        },
      }),
    ).toEqual(['execution.options: number has two places']);
    expect(changed({}, { ...contract.input, required: [] })).toEqual([
      'input.properties.number: a part of the path is required',
    ]);
  });
});
