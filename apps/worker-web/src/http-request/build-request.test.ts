import { HttpOperation } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { buildRequest } from './build-request.ts';

const operation = (over: object = {}): HttpOperation =>
  HttpOperation.parse({
    base: 'https://api.example.com/v1',
    method: 'POST',
    path: '/repos/{owner}/issues/{number}.json',
    query: [
      { name: 'q', argument: 'query' },
      { name: 'label', argument: 'labels', list: 'repeat' },
      { name: 'ids', argument: 'ids', list: 'comma' },
    ],
    headers: [{ name: 'x-project', argument: 'project' }],
    body: { fields: ['body', 'key'] },
    success: [201],
    precondition: { header: 'if-match', argument: 'etag' },
    key_header: 'idempotency-key',
    ...over,
  });

const PATH = { owner: 'shop', number: 7 };
const built = (args: object, over: object = {}) =>
  buildRequest(operation(over), { ...PATH, ...args }, { agent: 'Test/1', key: 'op.1' });
const refusedFor = (args: object, over: object = {}) => {
  try {
    const { url } = built(args, over);
    return `sent ${url.href}`;
  } catch (thrown) {
    if (!(thrown instanceof FabricError)) throw thrown;
    return `${thrown.type} ${thrown.details.fields?.[0]?.field ?? ''}`;
  }
};

describe('WB-4: a request', () => {
  it('is made of the declared places alone, in one order', () => {
    const args = {
      query: 'a b&c=d',
      labels: ['y', 'x/1'],
      ids: [2, 1],
      body: 'hi',
      key: 'k',
      project: 'p',
      other: 'no',
    };
    const { method, url, headers, body } = built({ ...args, etag: '"3"' });
    expect(method).toBe('POST');
    expect(url.href).toBe(
      'https://api.example.com/v1/repos/shop/issues/7.json?ids=2,1&label=y&label=x%2F1&q=a%20b%26c%3Dd',
    );
    expect(headers).toMatchObject({
      'user-agent': 'Test/1',
      'x-project': 'p',
      'if-match': '"3"',
      'idempotency-key': 'op.1',
    });
    expect(Buffer.from(body ?? []).toString()).toBe('{"body":"hi","key":"k"}');
    const shuffled = Object.fromEntries(Object.entries({ ...args, etag: '"3"' }).toReversed());
    expect(built(shuffled)).toEqual(built({ ...args, etag: '"3"' }));
  });

  it('leaves out what was not given, and sends a body that is one argument as it is', () => {
    const { url, headers, body } = built({ body: ['x'] }, { body: { argument: 'body' } });
    expect(url.search).toBe('');
    expect(Object.keys(headers)).not.toContain('if-match');
    expect(Buffer.from(body ?? []).toString()).toBe('["x"]');
    expect(built({}, { body: { argument: 'body' } }).body).toBeUndefined();
  });

  it('carries the operation key with no safe method', () => {
    const { headers, body } = built({}, { method: 'GET', body: undefined });
    expect(headers).not.toHaveProperty('idempotency-key');
    expect(headers).not.toHaveProperty('content-type');
    expect(body).toBeUndefined();
  });

  it.each(['', '..', '.', 'a/b', '../x', 'a\\b', 'a;b', 'a\nb', '\0', 'a\u0085', '\ud800', null, {}, ['x']])(
    'keeps %j from leaving its segment',
    (owner) => expect(refusedFor({ owner })).toBe('invalid_arguments /owner'),
  );

  it('keeps parts of one segment from making ".." together', () => {
    const over = { path: '/x/{owner}{number}' };
    expect(refusedFor({ owner: '.', number: '.' }, over)).toBe('invalid_arguments /owner');
    expect(refusedFor({ owner: '.', number: 'a' }, over)).toBe('sent https://api.example.com/v1/x/.a');
    expect(refusedFor({ owner: '', number: 'a' }, over)).toBe('invalid_arguments /owner');
  });

  it.each([
    ['%2e%2e', '%252e%252e'],
    ['%2f', '%252f'],
    ['?x=1#y', '%3Fx%3D1%23y'],
    ['a b@c:d', 'a%20b%40c%3Ad'],
    ["it's(1)*!", 'it%27s%281%29%2A%21'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
  ])('says %j by escapes', (owner, said) =>
    expect(built({ owner }).url.pathname).toBe(`/v1/repos/${said}/issues/7.json`),
  );

  it.each(['a\r\nx-evil: 1', 'a\nb', 'ü', '\0', ' a', 'a ', 'x'.repeat(2_001), null, [1], {}])(
    'keeps %j from ending its header',
    (project) => {
      const expected = project === null ? /^sent/ : /^invalid_arguments \/project$/;
      expect(refusedFor({ project })).toMatch(expected);
    },
  );

  it('sends no list where one value is declared, and no object anywhere in the query', () => {
    expect(refusedFor({ query: ['a', 'b'] })).toBe('invalid_arguments /query');
    expect(refusedFor({ labels: [{}] })).toBe('invalid_arguments /labels');
    expect(refusedFor({ query: { a: 1 } })).toBe('invalid_arguments /query');
    expect(built({ labels: [], ids: [] }).url.search).toBe('');
  });

  it('is refused when its address is too long', () => {
    expect(refusedFor({ query: 'x'.repeat(7_900) })).toMatch(/^sent/);
    expect(refusedFor({ query: 'x'.repeat(8_000) })).toMatch(/^invalid_arguments/);
  });

  it('takes only own fields for arguments', () => {
    expect(refusedFor({}, { path: '/{constructor}' })).toBe('invalid_arguments /constructor');
  });
});

describe('WB-4: an operation', () => {
  it.each([
    { base: 'ftp://api.example.com' },
    { base: 'https://user@api.example.com' },
    { base: 'https://api.example.com/' },
    { base: 'https://api.example.com/v1?x=1' },
    { base: 'https://api.example.com/a/../b' },
    { base: 'https://API.example.com' },
    { base: 'https://api.example.com:443' },
    { base: 'https://0x7f.1' },
    { base: 'https://api.example.com//v1' },
    { base: 'https://api.example.com/v;1' },
    { path: 'issues' },
    { path: '/a//b' },
    { path: '/a/../b' },
    { path: '/./b' },
    { path: '/a?x=1' },
    { path: '/a%2fb' },
    { path: '/a;b' },
    { path: '/{a}{' },
    { headers: [{ name: 'host', argument: 'a' }] },
    { headers: [{ name: 'authorization', argument: 'a' }] },
    { headers: [{ name: 'content-length', argument: 'a' }] },
    { headers: [{ name: 'X-Project', argument: 'a' }] },
    { headers: [{ name: 'a\r\nb', argument: 'a' }] },
    { key_header: 'cookie' },
    { method: 'TRACE' },
    { method: 'CONNECT' },
    { success: [] },
    { success: [404] },
    { refusals: [500] },
    { refusals: [301] },
  ])('cannot be declared with %j', (over) => expect(() => operation(over)).toThrow());

  it.each(['http://127.0.0.1:8080', 'https://api.example.com:8443/a/b', 'https://[2001:db8::1]'])(
    'may be at %s',
    (base) => expect(operation({ base }).base).toBe(base),
  );
});
