import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, testAuthority } from './testing/certificates.ts';
import { exchangeRaw, openEgress, permitFor, secureTunnel, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';
import type { Pem } from './tls/create-authority.ts';

const LOOPBACK = ['127.0.0.0/8'];
let outside: Pem;
let peer: Peer;
let egress: TestEgress;
const GET = 'GET /a HTTP/1.1\r\nhost: shop.example.com\r\nconnection: close\r\n\r\n';

beforeAll(async () => {
  outside = await testAuthority();
  peer = await openPeer(await certificateFor(['shop.example.com', '127.0.0.1'], outside));
  egress = await openEgress();
});
afterAll(async () => {
  await egress.stop();
  await peer.stop();
});

const ruleFor = (host: string) => ({ host, ports: [peer.port], addresses: LOOPBACK });

describe('a tunnel that is passed through', () => {
  it('SB-2: reaches the host over its own TLS, and is told with its bytes', async () => {
    const permit = permitFor([ruleFor('shop.example.com')]);
    const { socket } = await egress.tunnel(`shop.example.com:${peer.port}`, await egress.open(permit));
    const answer = await exchangeRaw(await secureTunnel(socket, 'shop.example.com', outside.cert), GET);
    expect(answer.body).toContain('hello GET /a');
    await expect.poll(() => egress.attempts.filter(({ verdict }) => verdict === 'closed').length).toBe(1);
    const [allowed, closed] = egress.attempts;
    expect(allowed).toMatchObject({ verdict: 'allowed', host: 'shop.example.com', address: '127.0.0.1', rule: 0 });
    expect(allowed?.permit.callId).toBe(permit.callId);
    expect(closed?.bytesOut).toBeGreaterThan(300);
    expect(closed?.bytesIn).toBeGreaterThan(700);
    expect(closed?.reason).toBeUndefined();
  });

  it.each([
    ['another name', 'evil.example.com'],
    ['no name', ''],
  ])('SB-2: %s in the handshake than that of the tunnel goes nowhere', async (_, name) => {
    const before = peer.seen.length;
    const token = await egress.open(permitFor([ruleFor('shop.example.com')]));
    const { socket } = await egress.tunnel(`shop.example.com:${peer.port}`, token);
    await expect(secureTunnel(socket, name, outside.cert)).rejects.toThrow();
    await expect.poll(() => egress.attempts.at(-1)).toMatchObject({ verdict: 'closed', reason: 'tls_name' });
    expect(peer.seen.length).toBe(before);
  });

  it('SB-2: stays one where plain HTTP is permitted on the same port too, and nothing else may speak there', async () => {
    const rule = ruleFor('shop.example.com');
    const permit = permitFor([rule, { ...rule, scheme: 'http' }]);
    const token = await egress.open(permit);
    const { socket } = await egress.tunnel(`shop.example.com:${peer.port}`, token);
    const secured = await secureTunnel(socket, 'shop.example.com', outside.cert);
    expect((await exchangeRaw(secured, GET)).body).toContain('hello GET /a');
    const before = peer.seen.length;
    const other = await egress.tunnel(`shop.example.com:${peer.port}`, token);
    await expect(secureTunnel(other.socket, 'evil.example.com', outside.cert)).rejects.toThrow();
    expect(peer.seen.length).toBe(before);
  });

  it('takes a handshake in pieces of one byte', async () => {
    const token = await egress.open(permitFor([ruleFor('shop.example.com')]));
    const { socket } = await egress.tunnel(`shop.example.com:${peer.port}`, token);
    const write = socket._write.bind(socket);
    socket._write = (chunk: Buffer, encoding, done) => {
      const bytes = [...chunk.subarray(0, 700)].map((byte) => Buffer.from([byte]));
      const next = (index: number): void => {
        const byte = bytes[index];
        if (byte === undefined) return write(chunk.subarray(bytes.length), encoding, done);
        write(byte, encoding, () => next(index + 1));
      };
      next(0);
    };
    const secured = await secureTunnel(socket, 'shop.example.com', outside.cert);
    expect((await exchangeRaw(secured, GET)).status).toBe(200);
  });

  it('what is no handshake goes nowhere', async () => {
    const token = await egress.open(permitFor([ruleFor('shop.example.com')]));
    for (const text of ['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00', '\x16\x03\x01\xff\xff']) {
      const { socket } = await egress.tunnel(`shop.example.com:${peer.port}`, token);
      await exchangeRaw(socket, text);
      await expect.poll(() => egress.attempts.at(-1)).toMatchObject({ verdict: 'closed', reason: 'tls_malformed' });
    }
  });

  it.each([
    ['other.example.com', 0, 'host_not_permitted', 403],
    ['shop.example.com', 1, 'port_not_permitted', 403],
    ['shop.example.com.evil.com', 0, 'host_not_permitted', 403],
    ['ashop.example.com', 0, 'host_not_permitted', 403],
    ['SHOP.example.com@evil.com', 0, 'target_malformed', 400],
  ])('SB-2, BR-3: %s, port +%i: %s', async (host, more, reason, status) => {
    const token = await egress.open(permitFor([ruleFor('shop.example.com')]));
    const { refused } = await egress.tunnel(`${host}:${peer.port + more}`, token);
    expect(refused).toMatchObject({ reason, status });
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ reason });
  });

  it('SB-2, BR-3: an empty permit allows nothing, and no token neither', async () => {
    const { refused } = await egress.tunnel(`shop.example.com:${peer.port}`, await egress.open(permitFor([])));
    expect(refused?.reason).toBe('host_not_permitted');
    for (const token of ['', 'x'.repeat(43)]) {
      expect((await egress.tunnel(`shop.example.com:${peer.port}`, token)).refused).toMatchObject({
        status: 407,
        reason: 'permit_unknown',
      });
    }
  });
});

describe('its bounds', () => {
  it('the bytes of a permit count over all its connections and both directions', async () => {
    const permit = permitFor([ruleFor('shop.example.com')], { maxBytes: 10_000 });
    const token = await egress.open(permit);
    const statuses: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      const { socket, refused } = await egress.tunnel(`shop.example.com:${peer.port}`, token);
      if (refused !== undefined) expect(refused.reason).toBe('budget_exceeded');
      if (refused !== undefined) break;
      const secured = await secureTunnel(socket, 'shop.example.com', outside.cert).catch(() => undefined);
      if (secured !== undefined) statuses.push((await exchangeRaw(secured, GET)).status);
    }
    expect(statuses[0]).toBe(200);
    expect(statuses.length).toBeLessThan(8);
    const again = await egress.open(permit);
    expect((await egress.tunnel(`shop.example.com:${peer.port}`, again)).refused?.reason).toBe('budget_exceeded');
  });

  it('as many connections as the permit says, and one more once one has closed', async () => {
    const permit = permitFor([ruleFor('shop.example.com')], { maxConnections: 2 });
    const [token, again] = [await egress.open(permit), await egress.open(permit)];
    const target = `shop.example.com:${peer.port}`;
    const [first] = [await egress.tunnel(target, token), await egress.tunnel(target, token)];
    for (const one of [token, again]) {
      expect((await egress.tunnel(target, one)).refused).toMatchObject({ status: 429, reason: 'too_many_connections' });
    }
    first?.socket.destroy();
    await expect.poll(async () => (await egress.tunnel(target, token)).refused).toBeUndefined();
  });
});

describe('one execution', () => {
  it('has its permit open so many times at once, and again once one is closed', async () => {
    const permit = permitFor([ruleFor('shop.example.com')]);
    const tokens: string[] = [];
    for (let n = 0; n < 16; n += 1) tokens.push(await egress.open(permit));
    await expect(egress.open(permit)).rejects.toThrow('too_many_connections');
    await egress.close(tokens[0] ?? '');
    await expect(egress.open(permit)).resolves.toBeTypeOf('string');
  });
});

describe('a host that never closes and never reads', () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.pause();
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('slow heads and handshakes end by their limit', async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const port = (server.address() as { port: number }).port;
    const short = await openEgress({}, {}, { headMs: 150, idleMs: 400, connectionMs: 900 });
    try {
      const rule = { host: 'slow.example.com', ports: [port], addresses: LOOPBACK };
      const token = await short.open(permitFor([rule]));
      const slow = await short.tunnel(`slow.example.com:${port}`, token);
      slow.socket.write('\x16\x03\x01');
      await expect.poll(() => short.attempts.at(-1)?.reason).toBe('tls_malformed');
      expect((await short.raw('GET http://slow.example.com/ HTTP/1.1\r\nx-a: ')).status).toBe(400);
    } finally {
      await short.stop();
    }
  });
});
