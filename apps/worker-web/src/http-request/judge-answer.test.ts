import { HttpOperation } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { judgeAnswer } from './judge-answer.ts';
import { retryAfter } from './retry-after.ts';

const at = (method: string, refusals?: number[]) =>
  HttpOperation.parse({
    base: 'https://api.example.com',
    method,
    path: '/x',
    success: [200, 201],
    ...(refusals === undefined ? {} : { refusals }),
  });
const told = (operation: HttpOperation, status: number, hasPrecondition = false) => {
  const verdict = judgeAnswer(operation, status, hasPrecondition);
  return verdict.end === 'refused' ? verdict.type : verdict.end;
};

describe('RE-2: the answer to a write', () => {
  const write = at('POST');
  it.each([200, 201])('%i says that it was done', (status) => expect(told(write, status)).toBe('done'));

  it.each([202, 204, 206, 301, 302, 303, 304, 400, 401, 403, 404, 409, 412, 422, 429, 500, 502, 503, 504, 599])(
    '%i proves nothing where the interface does not say so',
    (status) => expect(told(write, status)).toBe('unknown'),
  );

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('a named refusal of %s changed nothing', (method) => {
    const named = at(method, [400, 401, 403, 404, 409, 412, 422, 428, 429]);
    expect([400, 401, 403, 404, 409, 412, 422, 428, 429].map((status) => told(named, status))).toEqual([
      'reported_failure',
      'credential_refused',
      'credential_refused',
      'reported_failure',
      'reported_failure',
      'stale_version',
      'reported_failure',
      'stale_version',
      'overloaded',
    ]);
    expect(told(named, 410)).toBe('unknown');
    expect(told(named, 503)).toBe('unknown');
  });

  it('a precondition that was sent and failed changed nothing', () => {
    expect(told(write, 412, true)).toBe('stale_version');
    expect(told(write, 409, true)).toBe('unknown');
  });
});

describe('the answer to a read', () => {
  it.each([
    [200, 'done'],
    [204, 'reported_failure'],
    [302, 'reported_failure'],
    [401, 'credential_refused'],
    [404, 'reported_failure'],
    [429, 'overloaded'],
    [500, 'reported_failure'],
    [502, 'host_unreachable'],
    [503, 'host_unreachable'],
    [504, 'host_unreachable'],
  ])('%i is %s, and never unknown', (status, expected) => {
    expect(told(at('GET'), status)).toBe(expected);
    expect(told(at('HEAD'), status)).toBe(expected);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-31T09:30:00Z');
  it.each([
    ['2', 2_000],
    ['0', 0],
    ['Sat, 31 Jan 2026 09:31:00 GMT', 60_000],
    ['Sat, 31 Jan 2026 09:29:00 GMT', 0],
    ['999999999', 3_600_000],
    ['-1', undefined],
    ['soon', undefined],
    ['1e9', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j', (header, expected) => expect(retryAfter(header, now)).toBe(expected));
});
