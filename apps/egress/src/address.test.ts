import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, openEgress, permitFor, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';

const HOST = 'shop.example.com';
const answers: (readonly string[])[] = [];
const asked: string[] = [];
const resolver = {
  resolve: (name: string) => {
    asked.push(name);
    const next = answers.length > 1 ? answers.shift() : answers[0];
    return next === undefined ? Promise.reject(new Error('no such name')) : Promise.resolve(next);
  },
};
let peer: Peer;
let egress: TestEgress;
beforeAll(async () => {
  peer = await openPeer(undefined, undefined, '::');
  egress = await openEgress({}, { resolver }, { resolveMs: 100, connectMs: 1_000, nextAddressMs: 50 });
});
afterAll(async () => {
  await egress.stop();
  await peer.stop();
});

const get = async (resolved: readonly (readonly string[])[], addresses?: string[], host = HOST) => {
  answers.splice(0, answers.length, ...resolved);
  const named = addresses === undefined ? {} : { addresses };
  const token = await egress.open(permitFor([{ host, scheme: 'http', ports: [peer.port], ...named }]));
  const once = () =>
    egress.raw(
      `GET http://${host}:${peer.port}/ HTTP/1.1\r\nhost: ${host}:${peer.port}\r\nproxy-authorization: ${basic(token)}\r\nconnection: close\r\n\r\n`,
    );
  return { first: await once(), second: once };
};

describe('the address that is dialled', () => {
  it.each([['127.0.0.1'], ['::1'], ['169.254.169.254'], ['::ffff:127.0.0.1'], ['64:ff9b::7f00:1'], ['2002:7f00:1::']])(
    'SB-2: %s behind a permitted name is refused, unless the permit names it',
    async (address) => {
      const before = peer.seen.length;
      const { first } = await get([[address]]);
      expect(first).toMatchObject({ status: 403, reason: 'address_not_permitted' });
      expect(peer.seen.length).toBe(before);
    },
  );

  it('SB-2: one private address among public ones makes all void', async () => {
    expect((await get([['93.184.216.34', '127.0.0.1']])).first.reason).toBe('address_not_permitted');
  });

  it('SB-2: a name that leads elsewhere the second time is decided anew', async () => {
    const { first, second } = await get([['127.0.0.1'], ['10.0.0.1']], ['127.0.0.0/8']);
    expect(first.status).toBe(200);
    expect((await second()).reason).toBe('address_not_permitted');
  });

  it('SB-2: one answer is asked for one connection, and that address is dialled', async () => {
    const before = asked.length;
    await get([['127.0.0.1'], ['10.0.0.1']], ['127.0.0.0/8']);
    expect(asked.slice(before)).toEqual([HOST]);
    expect(egress.attempts.findLast(({ verdict }) => verdict === 'allowed')?.address).toBe('127.0.0.1');
  });

  it('an address as host is held to the same, and asks no resolver', async () => {
    const before = asked.length;
    expect((await get([], undefined, '127.0.0.1')).first.reason).toBe('address_not_permitted');
    expect((await get([], ['127.0.0.0/8'], '127.0.0.1')).first.status).toBe(200);
    expect((await get([], ['::1/128'], '[::1]')).first.status).toBe(200);
    expect(asked.length).toBe(before);
  });

  it('the next address is tried when one does not answer; both families', async () => {
    expect((await get([['127.0.0.1', '::1']], ['127.0.0.0/8', '::1/128'])).first.status).toBe(200);
    expect((await get([['fd00::1', '127.0.0.1']], ['127.0.0.0/8', 'fd00::/8'])).first.status).toBe(200);
  });

  it('no address, no name, no answer in time and nobody there are said apart', async () => {
    expect((await get([[]])).first).toMatchObject({ status: 502, reason: 'resolve_failed' });
    expect((await get([])).first.reason).toBe('resolve_failed');
    const silent = await openEgress({}, { resolver: { resolve: () => new Promise(() => {}) } }, { resolveMs: 50 });
    const token = await silent.open(permitFor([{ host: HOST }]));
    expect((await silent.tunnel(`${HOST}:443`, token)).refused?.reason).toBe('resolve_failed');
    await silent.stop();
    answers.splice(0, answers.length, ['127.0.0.1']);
    const closed = await egress.open(permitFor([{ host: HOST, ports: [1], addresses: ['127.0.0.0/8'] }]));
    expect((await egress.tunnel(`${HOST}:1`, closed)).refused).toMatchObject({ status: 502, reason: 'connect_failed' });
  });

  it('what the permit does not name is not even resolved', async () => {
    const before = asked.length;
    const token = await egress.open(permitFor([{ host: HOST }]));
    await egress.tunnel('secrets.evil.example.com:443', token);
    expect(asked.length).toBe(before);
  });
});
