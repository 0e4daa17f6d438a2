import { createServer, type Socket } from 'node:net';
import type { EgressRule } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, type HostCertificate, testAuthority } from './testing/certificates.ts';
import { basic, exchangeRaw, openEgress, permitFor, secureTunnel, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';
import type { Pem } from './tls/create-authority.ts';

const HOST = 'shop.example.com';
const LOOPBACK = ['127.0.0.0/8'];
let outside: Pem;
let inside: Pem;
let certificate: HostCertificate;
let peer: Peer;
let plain: Peer;
let egress: TestEgress;

beforeAll(async () => {
  [outside, inside] = await Promise.all([testAuthority(), testAuthority()]);
  certificate = await certificateFor([HOST], outside);
  peer = await openPeer(certificate);
  plain = await openPeer();
  const shown = { headers: { Authorization: 'Bearer of-the-vault' }, secrets: ['of-the-vault'] };
  const credentials = { headersFor: () => Promise.resolve(shown) };
  egress = await openEgress({ authority: inside, extraCa: [outside.cert] }, { credentials });
});
afterAll(async () => {
  await egress.stop();
  await Promise.all([peer.stop(), plain.stop()]);
});

const rule = (over: Partial<EgressRule> = {}): EgressRule => ({
  host: HOST,
  ports: [peer.port],
  addresses: LOOPBACK,
  methods: ['GET', 'POST'],
  ...over,
});
const head = (line: string, ...more: string[]) =>
  `${[`${line} HTTP/1.1`, `host: ${HOST}:PORT`, 'connection: close', ...more].join('\r\n')}\r\n\r\n`;

/** One raw exchange in a tunnel that the egress reads. */
const ask = async (rules: EgressRule[], text: string, port = peer.port, by: TestEgress = egress) => {
  const { socket, refused } = await by.tunnel(`${HOST}:${port}`, await by.open(permitFor(rules)));
  if (refused !== undefined) return refused;
  return exchangeRaw(await secureTunnel(socket, HOST, inside.cert), text.replaceAll('PORT', String(port)));
};

describe('a tunnel that is read', () => {
  it('SB-2: passes what its rule allows, with the path in one form', async () => {
    const rules = [rule({ paths: ['/api/v1'] })];
    expect((await ask(rules, head('GET /api/%76%31/x/../y?q=1'))).body).toContain('hello GET /api/v1/y?q=1');
    expect((await ask(rules, head('GET /api/v1/../v2'))).reason).toBe('path_not_permitted');
    expect((await ask(rules, head('GET /api/v1/%2e%2e/v2'))).reason).toBe('path_not_permitted');
    expect((await ask(rules, head('GET /api/v1/..;/v2'))).reason).toBe('path_malformed');
    expect((await ask(rules, head('GET /api/v10'))).reason).toBe('path_not_permitted');
    expect((await ask(rules, head('DELETE /api/v1'))).reason).toBe('method_not_permitted');
    expect(egress.attempts.find(({ path }) => path !== undefined)).toMatchObject({ method: 'GET', rule: 0 });
  });

  it('PO-11: injects the credential in place of what the client sent', async () => {
    const text = head(
      'GET /',
      'authorization: Bearer of-the-client',
      'Proxy-Foo: x',
      'X-Gone: y',
      'connection: x-gone',
    );
    expect((await ask([rule({ credential: 'user:tracker' })], text)).status).toBe(200);
    const headers = peer.seen.at(-1)?.headers ?? {};
    expect(headers.authorization).toBe('Bearer of-the-vault');
    expect(headers).not.toHaveProperty('x-gone');
    expect(Object.keys(headers).filter((name) => name.startsWith('proxy'))).toEqual([]);
    expect(JSON.stringify(egress.attempts)).not.toContain('of-the');
  });

  it('PO-11: without a broker a credential is refused, never left out', async () => {
    const bare = await openEgress({ authority: inside, extraCa: [outside.cert] });
    const answer = await ask([rule({ credential: 'user:tracker' })], head('GET /without-a-broker'), peer.port, bare);
    expect(answer).toMatchObject({ status: 403, reason: 'credential_unavailable' });
    expect(JSON.stringify(peer.seen)).not.toContain('without-a-broker');
    await bare.stop();
  });

  it('SB-2: without an authority a rule that must be read is refused', async () => {
    const bare = await openEgress();
    expect(await ask([rule()], head('GET /'), peer.port, bare)).toMatchObject({ reason: 'tls_unavailable' });
    await bare.stop();
  });

  it.each([
    ['another host', head('GET /').replace(HOST, 'evil.example.com'), 'target_malformed'],
    ['another port', head('GET /').replace('PORT', '1'), 'target_malformed'],
    ['an upgrade', head('GET /', 'upgrade: websocket'), 'upgrade_not_permitted'],
    ['a length that is dropped on the way', head('GET /', 'connection: content-length'), 'request_malformed'],
  ])('SB-2: %s is refused', async (_, text, reason) => {
    const before = peer.seen.length;
    expect((await ask([rule()], text)).reason).toBe(reason);
    expect(peer.seen.length).toBe(before);
  });

  it.each([
    ['a length and chunks', `${head('POST /', 'content-length: 3', 'transfer-encoding: chunked')}0\r\n\r\n`],
    ['two lengths', `${head('POST /', 'content-length: 3', 'content-length: 4')}abcd`],
    ['two equal lengths', `${head('POST /', 'content-length: 3', 'content-length: 3')}abc`],
    ['a list of lengths', `${head('POST /', 'content-length: 3, 3')}abc`],
    ['a signed length', `${head('POST /', 'content-length: +3')}abc`],
    ['another coding', `${head('POST /', 'transfer-encoding: gzip, chunked')}0\r\n\r\n`],
    ['a strange coding', `${head('POST /', 'transfer-encoding: xchunked')}0\r\n\r\n`],
    ['a bad chunk', `${head('POST /', 'transfer-encoding: chunked')}zz\r\nabc\r\n0\r\n\r\n`],
    ['a chunk without CR', `${head('POST /', 'transfer-encoding: chunked')}3\nabc\n0\n\n`],
    ['a folded line', head('GET /', 'x-a: b', ' content-length: 3')],
    ['lines without CR', head('GET /').replaceAll('\r\n', '\n')],
    ['a space before the colon', head('GET /', 'content-length : 3')],
    ['no host', 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n'],
    ['two hosts', head('GET /', `host: ${HOST}`)],
    ['chunks in HTTP/1.0', `${head('POST /', 'transfer-encoding: chunked').replace('1.1', '1.0')}0\r\n\r\n`],
    ['NUL in a value', head('GET /', 'x-a: b\0c')],
    ['too many headers', head('GET /', ...Array.from({ length: 200 }, (_, i) => `x-${i}: 1`))],
    ['a head beyond its bounds', head('GET /', `x-a: ${'b'.repeat(40_000)}`)],
  ])('request smuggling: %s goes nowhere', async (_, text) => {
    const before = peer.seen.length;
    const answer = await ask([rule()], text);
    expect(answer.status === 0 || answer.status >= 400, String(answer.status)).toBe(true);
    expect(peer.seen.slice(before).filter(({ method }) => method === 'GET')).toEqual([]);
    expect(peer.bytes).toBe(0);
  });

  it('each request of one tunnel is decided, over one connection to the host', async () => {
    const text = head('GET /a').replace('connection: close\r\n', '') + head('DELETE /b');
    const before = peer.seen.length;
    const answer = await ask([rule()], text);
    expect(answer.body).toContain('hello GET /a');
    expect(answer.body).toContain('method_not_permitted');
    expect(peer.seen.slice(before).map(({ url }) => url)).toEqual(['/a']);
  });
});

describe('the certificate of the host', () => {
  const DAY_MS = 86_400_000;
  const expired = { notBefore: new Date(Date.now() - 9 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) };

  it.each([
    ['expired', async () => certificateFor([HOST], outside, expired)],
    ['for another name', async () => certificateFor(['evil.example.com'], outside)],
    ['of an authority that nobody knows', async () => certificateFor([HOST], await testAuthority())],
    ['its own', async () => certificateFor([HOST], undefined)],
    ['of the authority that clients trust', async () => certificateFor([HOST], inside)],
  ])('SB-2: %s is refused', async (_, make) => {
    const bad = await openPeer(await make());
    const answer = await ask([rule({ ports: [bad.port] })], head('GET /'), bad.port);
    expect(answer).toMatchObject({ status: 502, reason: 'tls_certificate' });
    expect(bad.seen).toEqual([]);
    await bad.stop();
  });

  it('SB-2: a good one with another key than the permit names is refused; the named key is let through', async () => {
    const named = (pin: string) => rule({ methods: ['GET'], keys: [pin] });
    expect((await ask([named(certificate.pin)], head('GET /'))).status).toBe(200);
    const before = peer.seen.length;
    expect(await ask([named('0'.repeat(64))], head('GET /'))).toMatchObject({ status: 502, reason: 'tls_key' });
    expect(peer.seen.length).toBe(before);
  });
});

describe('plain HTTP', () => {
  const open = () => egress.open(permitFor([{ host: HOST, scheme: 'http', ports: [plain.port], addresses: LOOPBACK }]));
  const absolute = (token: string, host = HOST, hostHeader = host) =>
    `GET http://${host}:${plain.port}/a HTTP/1.1\r\nhost: ${hostHeader}:${plain.port}\r\nproxy-authorization: ${basic(token)}\r\nconnection: close\r\n\r\n`;

  it('comes in absolute form, or through a tunnel', async () => {
    const token = await open();
    expect((await egress.raw(absolute(token))).body).toContain('hello GET /a');
    expect(plain.seen.at(-1)?.headers).not.toHaveProperty('proxy-authorization');
    const { socket } = await egress.tunnel(`${HOST}:${plain.port}`, token);
    expect((await exchangeRaw(socket, head('GET /b').replace('PORT', String(plain.port)))).body).toContain('/b');
  });

  it('another host in the line than in the header is refused, and so is TLS where only plain is allowed', async () => {
    const token = await open();
    expect((await egress.raw(absolute(token, HOST, 'evil.example.com'))).reason).toBe('target_malformed');
    expect((await egress.raw(absolute(token, 'evil.example.com'))).reason).toBe('host_not_permitted');
    expect((await egress.raw(absolute('x'.repeat(43)))).status).toBe(407);
    const { socket } = await egress.tunnel(`${HOST}:${plain.port}`, token);
    await expect(secureTunnel(socket, HOST, inside.cert)).rejects.toThrow();
    await expect.poll(() => egress.attempts.at(-1)?.reason).toBe('scheme_not_permitted');
  });
});

describe('a host that answers badly', () => {
  const respond = async (text: string) => {
    const server = createServer((socket: Socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(text, 'latin1'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const port = (server.address() as { port: number }).port;
    const token = await egress.open(permitFor([{ host: HOST, scheme: 'http', ports: [port], addresses: LOOPBACK }]));
    const { socket } = await egress.tunnel(`${HOST}:${port}`, token);
    const answer = await exchangeRaw(socket, head('GET /').replace('PORT', String(port)));
    server.close();
    return answer;
  };

  it.each([
    ['no HTTP', 'SSH-2.0-x\r\n'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['nothing', ''],
  ])('%s is 502', async (_, text) => expect((await respond(text)).status).toBe(502));

  it('a body that breaks off is broken off', async () => {
    const answer = await respond('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort');
    expect(answer.body.length).toBeLessThan(100);
    await expect.poll(() => egress.attempts.some(({ reason }) => reason === 'response_malformed')).toBe(true);
  });

  it('it cannot speak as the egress', async () => {
    const answer = await respond('HTTP/1.1 200 OK\r\ntoolfabric-egress: permit_revoked\r\ncontent-length: 0\r\n\r\n');
    expect(answer).toMatchObject({ status: 200, reason: undefined });
  });
});
