import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor } from './create-redactor.ts';
import { REDACTION_RULES } from './rules.ts';
import { secretKindOf } from './sensitive-name.ts';

const make = (rules: readonly string[] = []) => createRedactor({ secret: Buffer.alloc(32, 7), tenant: 'shop', rules });
const MARK = /^\[redacted:[a-z-]+:[0-9a-f]{8}\]$/;

describe('redaction of JSON', () => {
  it('RS-5: blanks what stands under a sensitive name, at any depth, and keeps the rest', () => {
    const value = {
      user: 'kim',
      password: 'hunter2',
      headers: { Authorization: 'Bearer abc', accept: 'text/plain' },
      list: [{ apiKey: 'k1' }, { access_token: 't-1', expires_in: 3600 }],
      cookies: [{ name: 'sid', value: 'abc' }],
      max_tokens: 55,
      nextPageToken: 'CAUQAA',
      token: null,
      secret: '',
      usesPassword: true,
    };
    const shown = make().json(value);
    expect(shown).toEqual({
      ...value,
      password: expect.stringMatching(MARK),
      headers: { Authorization: expect.stringMatching(MARK), accept: 'text/plain' },
      list: [{ apiKey: expect.stringMatching(MARK) }, { access_token: expect.stringMatching(MARK), expires_in: 3600 }],
      cookies: [{ name: expect.stringMatching(MARK), value: expect.stringMatching(MARK) }],
    });
  });

  it('a secret number is blanked, a number of tokens is not', () => {
    expect(make().json({ password: 1234, token: 5 })).toEqual({ password: expect.stringMatching(MARK), token: 5 });
  });

  it('the schema of a secret field is no secret', () => {
    const schema = { properties: { password: { type: 'string', description: 'of the account' } } };
    expect(make().json(schema)).toEqual(schema);
  });

  it('RS-5: a pointer of the contract blanks a field, whatever it holds', () => {
    const value = { a: { b: { c: [1, 2] }, d: 'x' }, list: [{ ssn: '1' }, { ssn: 2, n: 'y' }], 'x/y': 'z' };
    expect(make(['/a/b', '/list/*/ssn', '/x~1y', '/none/there']).json(value)).toEqual({
      a: { b: expect.stringMatching(MARK), d: 'x' },
      list: [{ ssn: expect.stringMatching(MARK) }, { ssn: expect.stringMatching(MARK), n: 'y' }],
      'x/y': expect.stringMatching(MARK),
    });
    expect(make(['/list/1']).json({ list: ['a', 'b'] })).toEqual({ list: ['a', expect.stringMatching(MARK)] });
  });

  it('RS-5: finds secrets in strings and in names', () => {
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
    const shown = JSON.stringify(make().json({ note: `use ${key}`, [key]: 1, text: '{"password":"hunter2"}' }));
    expect(shown).not.toContain(key);
    expect(shown).not.toContain('hunter2');
  });

  it('what is too deep is blanked whole, and a cycle ends', () => {
    let deep: unknown = 'canary';
    for (let level = 0; level < 5000; level += 1) deep = { deep };
    expect(JSON.stringify(make().json(deep))).not.toContain('canary');
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(JSON.stringify(make().json(cycle))).toContain('[redacted:depth:');
  });

  it('a field `__proto__` stays a field', () => {
    const shown = make().json(JSON.parse('{"__proto__":{"password":"hunter2"}}') as object);
    expect(Object.keys(shown)).toEqual(['__proto__']);
    expect(JSON.stringify(shown)).not.toContain('hunter2');
    expect(({} as { password?: string }).password).toBeUndefined();
  });

  it('keeps every value without secrets as it is, and is harmless the second time', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const redactor = make(['/a']);
        const once = redactor.json({ a: 1, value, token: value });
        expect(make(['/a']).json(once)).toEqual(once);
        if (redactor.count === 1) expect(once.value).toEqual(value);
      }),
    );
  });

  it('optional rules work where they are asked for', () => {
    const text = 'kim@example.com paid with 4111 1111 1111 1111, order 4111111111111112';
    expect(make().text(text)).toBe(text);
    expect(make(['email', 'card']).text(text)).toMatch(
      /^\[redacted:email:\w{8}\] paid with \[redacted:card:\w{8}\], order 4111111111111112$/,
    );
  });

  it('a rule that does not exist is refused', () => {
    for (const rule of ['nonsense', '', '/', 'a/b', '/a~2'])
      expect(() => make([rule])).toThrow(expect.objectContaining({ type: 'contract_invalid' }));
    expect(() => make(REDACTION_RULES)).not.toThrow();
  });

  it('a short installation secret is refused', () => {
    expect(() => createRedactor({ secret: Buffer.alloc(8), tenant: 'shop' })).toThrow(TypeError);
  });
});

describe('names that say that a value is secret', () => {
  it.each([
    'password',
    'DB_PASSWORD',
    'dbPassword',
    'PGPASSWORD',
    'user.passwd',
    'passphrase',
    'PASSWORD_2',
    'mysql_pwd',
    'db_pass',
    'secret',
    'client_secret',
    'clientSecret',
    'token',
    'access_token',
    'authToken',
    '_authToken',
    'csrf-token',
    'apiKey',
    'api_key',
    'X-Api-Key',
    'AWS_SECRET_ACCESS_KEY',
    'privateKey',
    'AccountKey',
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'PHPSESSID',
    'credentials',
    'X-Amz-Signature',
    'token_value',
    'STRIPE_SECRET_KEY_PROD',
  ])('%s', (name) => expect(secretKindOf(name)).toBeDefined());

  it.each([
    'passwordHash',
    'password_policy',
    'tokenizer',
    'max_tokens',
    'nextPageToken',
    'page_token',
    'tokenType',
    'author',
    'key',
    'primaryKey',
    'secretName',
    'secretKeyRef',
    'cookiePolicy',
    'authority',
    'signature',
    'pass',
    'bypass',
    'compass',
    'monkey',
    '',
  ])('not %s', (name) => expect(secretKindOf(name)).toBeUndefined());
});
