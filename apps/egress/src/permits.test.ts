import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { EGRESS_PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, generateSigningKey } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEgress, permitFor, routerSigner, type TestEgress } from './testing/open-egress.ts';

const RULE = { host: 'shop.example.com' };
const sealed = (body: unknown) => JSON.stringify(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(body)));
let egress: TestEgress;
beforeAll(async () => {
  egress = await openEgress();
});
afterAll(() => egress.stop());

describe('a permit', () => {
  it('RT-9: is opened only as a router signed it, for a pool that is served, and before its end', async () => {
    const forged = createSigner('router-1', generateSigningKey('router-1', ['router']).privateKey);
    const permit = permitFor([RULE]);
    const body = JSON.stringify(permit);
    const bad = [
      JSON.stringify(forged.sign(EGRESS_PERMIT_TYPE, body)),
      JSON.stringify(routerSigner.sign('toolfabric/artifact-permit/1', body)),
      JSON.stringify({ ...routerSigner.sign(EGRESS_PERMIT_TYPE, body), body: body.replace('"epoch":1', '"epoch":2') }),
      sealed({ ...permit, kind: 'cli' }),
      sealed({ ...permit, more: 1 }),
      sealed({ ...permit, epoch: 0 }),
      body,
      '',
      'x'.repeat(200_000),
    ];
    for (const text of bad) expect(await egress.post(text)).toMatchObject({ status: 400, reason: 'permit_malformed' });
    expect(await egress.post(sealed({ ...permit, expires: Date.now() - 31_000 }))).toMatchObject({
      reason: 'permit_expired',
    });
    expect((await egress.post(sealed(permit))).status).toBe(201);
  });

  it('with a rule that cannot be kept is refused whole', async () => {
    const rules = [
      { host: '*.127.0.0.1' },
      { host: '127.1' },
      { host: 'xn--a.com' },
      { ...RULE, addresses: ['10.0.0.0'] },
      { ...RULE, addresses: ['10.0.0.0/33'] },
      { ...RULE, paths: ['/a/../b'] },
      { ...RULE, paths: ['/a?b'] },
      { ...RULE, scheme: 'http' as const, keys: ['a'.repeat(64)] },
    ];
    for (const rule of rules) {
      expect((await egress.post(sealed(permitFor([RULE, rule])))).reason, JSON.stringify(rule)).toBe(
        'permit_malformed',
      );
    }
  });

  it('revoked is void, at its epoch and below, before and after it was opened', async () => {
    const first = permitFor([RULE]);
    const token = await egress.open(first);
    await egress.revoke({ callId: first.callId, epoch: 2 });
    expect((await egress.tunnel('shop.example.com:443', token)).refused).toMatchObject({
      status: 403,
      reason: 'permit_revoked',
    });
    await expect(egress.open(first)).rejects.toThrow('permit_revoked');
    await expect(egress.open({ ...first, epoch: 2 })).rejects.toThrow('permit_revoked');
    expect(await egress.open({ ...first, epoch: 3 })).toHaveLength(43);
    await egress.revoke({ callId: first.callId, epoch: 1 });
    await expect(egress.open({ ...first, epoch: 2 })).rejects.toThrow('permit_revoked');
  });

  it('closed by its token is void; the token of none closes nothing', async () => {
    const token = await egress.open(permitFor([RULE]));
    expect(JSON.parse((await egress.close(token)).body)).toEqual({ connections: 0, bytes: 0 });
    expect((await egress.tunnel('shop.example.com:443', token)).refused?.reason).toBe('permit_closed');
    expect((await egress.close('x'.repeat(43))).status).toBe(407);
    expect((await egress.close('')).status).toBe(407);
  });
});

describe('stored floors', () => {
  it('are read before a permit is good, and a permit is void when they cannot be', async () => {
    const permit = permitFor([RULE], { epoch: 3 });
    const floors = { of: 2 as number | undefined };
    const source = {
      floorOf: () => (floors.of === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(floors.of)),
    };
    const guarded = await openEgress({}, { floors: source });
    try {
      expect(await guarded.open(permit)).toHaveLength(43);
      floors.of = 3;
      await expect(guarded.open(permit)).rejects.toThrow('permit_revoked');
      floors.of = undefined;
      await expect(guarded.open(permit)).rejects.toThrow('floor_unreadable');
    } finally {
      await guarded.stop();
    }
  });

  it('protocol 7: a revocation that comes while they are read wins', async () => {
    const reading = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<number>();
    const source = {
      floorOf: () => {
        reading.resolve();
        return answer.promise;
      },
    };
    const guarded = await openEgress({}, { floors: source });
    try {
      const permit = permitFor([RULE]);
      const opening = guarded.open(permit);
      const refused = expect(opening).rejects.toThrow('permit_revoked');
      await reading.promise;
      await guarded.revoke({ callId: permit.callId, epoch: 1 });
      answer.resolve(0);
      await refused;
    } finally {
      await guarded.stop();
    }
  });
});

describe('the table', () => {
  it('holds so many permits; those that ended make room', async () => {
    const small = await openEgress({}, {}, { permits: 2 });
    try {
      const token = await small.open(permitFor([RULE]));
      await small.open(permitFor([RULE]));
      expect(await small.post(sealed(permitFor([RULE])))).toMatchObject({ status: 503, reason: 'permits_full' });
      await small.close(token);
      expect(await small.open(permitFor([RULE]))).toHaveLength(43);
      expect(small.permits()).toBe(2);
    } finally {
      await small.stop();
    }
  });
});

describe('the socket', () => {
  it('is for its own user alone, and is not taken from one that listens', async () => {
    expect(statSync(egress.socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(egress.socketPath)).mode & 0o777).toBe(0o700);
    await expect(openEgress({ socket: { path: egress.socketPath } })).rejects.toThrow('another egress');
  });

  it('answers nothing but what it knows', async () => {
    const raw = (line: string) => egress.raw(`${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    for (const line of ['GET /', 'GET /v1/permits', 'PUT /v1/permits', 'POST /v1/permits/../permits', 'OPTIONS *']) {
      expect((await raw(line)).status, line).toBeGreaterThanOrEqual(400);
    }
    const socket = connect(egress.socketPath);
    socket.write('\x16\x03\x01nonsense\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve).resume());
  });
});
