import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  callPermit,
  idOf,
  nameHeader,
  readPermit,
  sign,
  signAs,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';

let under: UnderTest;
beforeAll(async () => {
  under = await startUnderTest();
  await under.put(callPermit(), 'a', 'bytes');
});
afterAll(() => under?.stop());

const id = idOf(callPermit(), 'a');
const withHeader = (authorization: string | undefined) =>
  under.ask(`/v1/artifacts/${id}`, { headers: authorization === undefined ? {} : { authorization } });
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const permit = { action: 'read', artifactId: id, actor: callPermit().actor, expires: Date.now() + 60_000 } as const;

describe('permits', () => {
  it.each([
    ['none', () => undefined],
    ['another scheme', () => 'Bearer abc'],
    ['no base 64', () => 'Permit §§§'],
    ['no JSON', () => `Permit ${Buffer.from('{').toString('base64url')}`],
    ['no envelope', () => `Permit ${encode({ body: '{}' })}`],
    ['a huge one', () => `Permit ${'A'.repeat(13_000)}`],
    ['one by a foreign key', () => `Permit ${encode(signAs('foreign', permit))}`],
    ['one by a worker', () => `Permit ${encode(signAs('worker', permit))}`],
    ['a signature over another type', () => `Permit ${encode(signAs('other-type', permit))}`],
    ['one that says another type', () => `Permit ${encode({ ...sign(permit), type: 'toolfabric/work/1' })}`],
    ['an unknown key', () => `Permit ${encode({ ...sign(permit), kid: '__proto__' })}`],
    [
      'a changed body',
      () =>
        `Permit ${encode({ ...sign(permit), body: JSON.stringify({ ...permit, actor: { ...permit.actor, user: 'eve' } }) })}`,
    ],
    ['a body with more in it', () => `Permit ${encode(sign({ ...permit, admin: true } as never))}`],
  ])('refuses %s', async (_what, header) => {
    const answer = await withHeader(header());
    expect([answer.status, answer.error, answer.headers['www-authenticate']]).toEqual([
      401,
      'unauthenticated',
      'Permit',
    ]);
  });

  it('refuses an expired one, with the leeway of two clocks', async () => {
    const at = (ago: number) => withHeader(`Permit ${encode(sign({ ...permit, expires: Date.now() - ago }))}`);
    expect([(await at(10_000)).status, (await at(40_000)).error]).toEqual([200, 'forbidden']);
  });

  it('takes the same one again and again: a replay changes nothing', async () => {
    const own = callPermit({ callId: '2969-replay' });
    for (let n = 0; n < 3; n++) expect((await under.put(own, 'x', 'same')).status).toBe(200);
    expect(
      under.events.filter(({ type, callId }) => type === 'artifact.stored' && callId === '2969-replay'),
    ).toHaveLength(1);
  });

  it('RS-4: a call writes only what follows from its own name, call and epoch', async () => {
    const put = (path: string, signed = sign(callPermit())) =>
      under.ask(path, {
        method: 'PUT',
        permit: signed,
        headers: { 'toolfabric-name': nameHeader('a') },
        body: 'forged',
      });
    const foreign = [
      idOf(callPermit(), 'b'),
      idOf(callPermit({ epoch: 2 }), 'a'),
      idOf(callPermit({ callId: '2969-other' }), 'a'),
      idOf(callPermit({ actor: { tenant: 'rival', user: 'ada', agent: 'coder' } }), 'a'),
    ];
    for (const other of foreign) expect((await put(`/v1/artifacts/${other}`)).error).toBe('forbidden');
    expect((await put(`/v1/artifacts/${id}`, readPermit(id))).error).toBe('forbidden');
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    expect(read.body.toString()).toBe('bytes');
  });

  it('a call without a workspace writes no snapshot', async () => {
    expect((await under.put(callPermit(), 'snapshot-1', 'x')).error).toBe('forbidden');
  });

  it.each([
    '/v1/artifacts/../../etc/passwd',
    '/v1/artifacts/..%2f..%2fetc%2fpasswd',
    '/v1/artifacts/a-..............%00.........',
    '/v1/artifacts/%2e%2e',
    `/v1/artifacts/${'a'.repeat(4_000)}`,
    '/v1/artifacts/__proto__',
    '/v1/artifacts//record',
    `/v1/artifacts/${id}/../record`,
    `/v1/artifacts/${id}/record/more`,
    `//v1/artifacts/${id}`,
    `/v2/artifacts/${id}`,
    `http://other.example/v1/artifacts/${id}`,
    '/',
    '/v1',
    '/v1/heads',
    '/metrics/../v1/artifacts',
  ])('finds nothing at %s', async (path) => {
    expect((await under.ask(path, { permit: readPermit(id) })).error).toBe('not_found');
  });

  it.each(['?path=../../x', '?x', `?${'a=1&'.repeat(100)}`])('takes no query %s', async (query) => {
    expect((await under.ask(`/v1/artifacts/${id}${query}`, { permit: readPermit(id) })).error).toBe('invalid_request');
  });

  it.each(['PATCH', 'OPTIONS', 'TRACE', 'POST'])('has no method %s', async (method) => {
    expect((await under.ask(`/v1/artifacts/${id}`, { method, permit: readPermit(id) })).status).toBe(404);
  });

  it('refuses huge headers and stays', async () => {
    const answer = await new Promise<number>((resolve, reject) => {
      const [host, port] = under.address.split(':');
      const sent = request({ host, port, path: '/v1/artifacts', headers: { 'x-huge': 'y'.repeat(40_000) } });
      sent.on('response', ({ statusCode }) => resolve(statusCode ?? 0)).on('error', reject);
      sent.end();
    });
    expect(answer).toBe(431);
    expect((await under.ask('/healthz')).status).toBe(200);
  });

  it('tells refusals of a known actor, never what was sent', async () => {
    const before = under.events.length;
    await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id, { tenant: 'rival', user: 'eve', agent: 'x' }) });
    expect(under.events.slice(before)).toMatchObject([
      {
        type: 'artifact.refused',
        tenant: 'rival',
        actor: { user: 'eve' },
        attributes: { reason: 'not_found', action: 'read' },
      },
    ]);
  });
});
