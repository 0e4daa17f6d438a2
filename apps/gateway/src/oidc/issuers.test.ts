import { FabricError } from '@toolfabric/kernel';
import { type JWTPayload, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalIssuer } from '../testing/local-issuer.ts';
import { OidcFile, OidcIssuer } from './issuer-config.ts';
import { ISSUER_TIMES, Issuers, type IssuerTimes } from './issuers.ts';

const QUICK: IssuerTimes = { ...ISSUER_TIMES, cooldownMs: 60, keysMs: 120 };

let issuer: LocalIssuer;
beforeEach(async () => {
  issuer = await LocalIssuer.open();
});
afterEach(() => issuer.close());

const settings = (more: Partial<Parameters<typeof OidcIssuer.parse>[0] & object> = {}) =>
  OidcIssuer.parse({ issuer: issuer.url, audience: 'toolfabric', tenant: 'acme', ...more });
const issuers = (more = {}, times: IssuerTimes = QUICK, now = Date.now) => new Issuers([settings(more)], now, times);
const seconds = () => Math.floor(Date.now() / 1_000);
const tamper = (token: string, change: (payload: JWTPayload) => JWTPayload): string => {
  const [header, payload = '', signature] = token.split('.');
  const changed = change(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
};
const unsigned = (header: object, payload: object): string =>
  [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a token of a configured issuer', () => {
  it('says who is calling', async () => {
    const token = await issuer.sign({ auth_time: 1_700_000_000 });
    expect(await issuers().verify(token)).toMatchObject({
      actor: { tenant: 'acme', user: 'ann', agent: 'coder' },
      rights: [],
      freshAt: 1_700_000_000_000,
      subject: 'ann',
    });
  });

  it.each<[string, () => Record<string, unknown>]>([
    ['for another audience', () => ({ aud: 'somebody-else' })],
    ['without an audience', () => ({ aud: undefined })],
    ['of another issuer', () => ({ iss: 'https://elsewhere.example' })],
    ['that has expired', () => ({ exp: seconds() - 60 })],
    ['that is not valid yet', () => ({ nbf: seconds() + 120 })],
    ['that never expires', () => ({ exp: undefined })],
    ['of nobody', () => ({ sub: '' })],
    ['without an agent', () => ({ azp: undefined })],
    ['of a user with too long a name', () => ({ sub: 'x'.repeat(300) })],
  ])('%s is refused', async (_what, claims) => {
    expect(await issuers().verify(await issuer.sign(claims()))).toBeUndefined();
  });

  it('that was changed, is unsigned, or is signed with the public key as a secret, is refused', async () => {
    const token = await issuer.sign({});
    const payload = { iss: issuer.url, aud: 'toolfabric', sub: 'ann', azp: 'coder', exp: seconds() + 300 };
    const confused = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'HS256', kid: 'first' })
      .sign(await issuer.publicBytes());
    const forged = [
      tamper(token, (claims) => ({ ...claims, sub: 'root' })),
      `${token.slice(0, -6)}AAAAAA`,
      `${unsigned({ alg: 'none' }, payload)}.`,
      `${unsigned({ alg: 'none' }, payload)}.AAAA`,
      confused,
      'a.b.c',
      '',
    ];
    const known = issuers();
    for (const text of forged) expect(await known.verify(text)).toBeUndefined();
    expect(await known.verify(token)).toBeDefined();
  });

  it('within thirty seconds of its end is still taken, since clocks differ', async () => {
    expect(await issuers().verify(await issuer.sign({ exp: seconds() - 20 }))).toBeDefined();
  });
});

describe('keys', () => {
  it('that are new are found without a restart, and ones that were taken away end', async () => {
    const known = issuers();
    const old = await issuer.sign({});
    expect(await known.verify(old)).toBeDefined();
    await issuer.addKey('second');
    await pause(QUICK.cooldownMs + 20);
    expect(await known.verify(await issuer.sign({}))).toBeDefined();
    issuer.removeKey('first');
    await pause(QUICK.keysMs + 20);
    expect(await known.verify(old)).toBeUndefined();
  });

  it('are not asked for again for every token with an unknown key', async () => {
    const known = issuers({}, ISSUER_TIMES);
    await known.verify(await issuer.sign({}));
    for (let n = 0; n < 50; n += 1) await known.verify(await issuer.sign({}, { kid: `none-${n}` }));
    expect(issuer.asked).toBe(1);
  });

  it('that cannot be had are an outage, which heals; never a refusal', async () => {
    issuer.isDown = true;
    const known = issuers({ jwksUrl: `${issuer.url}/keys` });
    const token = await issuer.sign({});
    const failure = await known.verify(token).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(FabricError);
    expect(failure).toMatchObject({ type: 'unavailable' });
    issuer.isDown = false;
    await pause(QUICK.cooldownMs + 20);
    expect(await known.verify(token)).toBeDefined();
  });

  it('are never those of an issuer whose discovery document speaks of another one', async () => {
    issuer.saysIssuer = 'https://elsewhere.example';
    await expect(issuers().verify(await issuer.sign({}))).rejects.toMatchObject({ type: 'unavailable' });
  });
});

describe('what is read out of a token', () => {
  it('is the tenant that one claim stands for', async () => {
    const known = issuers({ tenant: { claim: 'groups', values: { shop: 'acme', bank: 'other' } } });
    expect(await known.verify(await issuer.sign({ groups: ['staff', 'shop'] }))).toMatchObject({
      actor: { tenant: 'acme' },
    });
    for (const groups of [['shop', 'bank'], [], 'staff', ['__proto__', 'constructor'], 7, null])
      expect(await known.verify(await issuer.sign({ groups }))).toBeUndefined();
  });

  it('PO-10: are rights by the values of one claim, and no others', async () => {
    const known = issuers({ rights: { claim: 'roles', values: { lead: ['approvals:decide'], dev: [] } } });
    expect(await known.verify(await issuer.sign({ roles: ['lead', 'dev', 'toString'] }))).toMatchObject({
      rights: ['approvals:decide'],
    });
    expect(await known.verify(await issuer.sign({ rights: ['approvals:decide'] }))).toMatchObject({ rights: [] });
  });

  it('is a user with the prefix of the issuer', async () => {
    const known = issuers({ userPrefix: 'corp:', userClaim: 'email' });
    const token = await issuer.sign({ email: 'ann@example.com' });
    expect(await known.verify(token)).toMatchObject({ actor: { user: 'corp:ann@example.com' } });
  });
});

describe('the file of issuers', () => {
  const one = { issuer: 'https://id.example', audience: 'toolfabric', tenant: 'acme' };

  it.each([
    [[]],
    [[one, one]],
    [[{ ...one, issuer: 'http://id.example' }]],
    [[{ ...one, jwksUrl: 'http://id.example/keys' }]],
    [[{ ...one, algorithms: ['HS256'] }]],
    [[{ ...one, algorithms: ['none'] }]],
    [[{ ...one, tenant: 'No Such' }]],
    [[{ ...one, tenant: { claim: 'g', values: { a: 'b.c' } } }]],
    [[{ ...one, extra: true }]],
  ])('%j is refused', (file) => expect(OidcFile.safeParse(file).success).toBe(false));

  it('is taken with safe defaults', () => {
    const [read] = OidcFile.parse([one]);
    expect(read?.algorithms).toEqual(['RS256', 'PS256', 'ES256', 'EdDSA']);
  });
});
