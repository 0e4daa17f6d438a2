import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, testAuthority } from './testing/certificates.ts';
import { exchangeRaw, openEgress, permitFor, secureTunnel, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';
import type { Pem } from './tls/create-authority.ts';

const HOST = 'shop.example.com';
const LOOPBACK = ['127.0.0.0/8'];
const GET = `GET / HTTP/1.1\r\nhost: ${HOST}:PORT\r\n`;
const sockets = new Set<Socket>();
const silent = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}).resume();
});
let inside: Pem;
let outside: Pem;
let peer: Peer;
let silentPort = 0;
beforeAll(async () => {
  [inside, outside] = await Promise.all([testAuthority(), testAuthority()]);
  peer = await openPeer(await certificateFor([HOST], outside));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  silentPort = (silent.address() as { port: number }).port;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await peer.stop();
});

const endsOf = ({ attempts }: TestEgress) =>
  attempts.filter(({ verdict }) => verdict === 'closed').map(({ reason }) => reason);

describe('the times of a connection', () => {
  it('one on which nothing moves ends, and so does one that lasts too long though it moves', async () => {
    const rule = { host: HOST, scheme: 'http' as const, ports: [silentPort], addresses: LOOPBACK };
    const idle = await openEgress({}, {}, { idleMs: 150 });
    const one = await idle.tunnel(`${HOST}:${silentPort}`, await idle.open(permitFor([rule])));
    const answer = await exchangeRaw(one.socket, `${GET.replace('PORT', String(silentPort))}\r\n`);
    expect(answer.status).not.toBe(200);
    await expect.poll(() => endsOf(idle)).toEqual(['idle_timeout']);
    await idle.stop();
    const long = await openEgress({}, {}, { connectionMs: 300, idleMs: 10_000 });
    const two = await long.tunnel(`${HOST}:${silentPort}`, await long.open(permitFor([rule])));
    two.socket.write(`${GET.replace('PORT', String(silentPort))}transfer-encoding: chunked\r\n\r\n`);
    const drip = setInterval(() => two.socket.write('1\r\nx\r\n'), 20);
    await exchangeRaw(two.socket, '');
    clearInterval(drip);
    await expect.poll(() => endsOf(long)).toEqual(['time_exceeded']);
    await long.stop();
  });

  it('a permit that expires ends what is open under it', async () => {
    const egress = await openEgress();
    const rule = { host: HOST, scheme: 'http' as const, ports: [silentPort], addresses: LOOPBACK };
    const permit = permitFor([rule], { expires: Date.now() - 29_000 });
    const { socket } = await egress.tunnel(`${HOST}:${silentPort}`, await egress.open(permit));
    await exchangeRaw(socket, '');
    await expect.poll(() => endsOf(egress)).toEqual(['permit_expired']);
    await egress.stop();
  });
});

describe('many at once', () => {
  it('200 permits, each with a connection of its own, are kept apart and counted', async () => {
    const egress = await openEgress();
    const rule = { host: HOST, ports: [peer.port], addresses: LOOPBACK };
    const one = async () => {
      const permit = permitFor([rule]);
      const { socket } = await egress.tunnel(`${HOST}:${peer.port}`, await egress.open(permit));
      const secured = await secureTunnel(socket, HOST, outside.cert);
      const { status } = await exchangeRaw(secured, `${GET.replace('PORT', '443')}connection: close\r\n\r\n`);
      return { callId: permit.callId, status };
    };
    const answers = await Promise.all(Array.from({ length: 200 }, one));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const closed = () => egress.attempts.filter(({ verdict }) => verdict === 'closed');
    await expect.poll(() => closed().length).toBe(200);
    expect(new Set(closed().map(({ permit }) => permit.callId))).toEqual(new Set(answers.map(({ callId }) => callId)));
    await egress.stop();
  });
});

describe('a credential that is taken back', () => {
  it('PO-11: ends the connections over which it went, and no other', async () => {
    const credentials = {
      headersFor: () => Promise.resolve({ headers: { authorization: 'Bearer x' }, secrets: ['x'] }),
    };
    const egress = await openEgress({ authority: inside, extraCa: [outside.cert] }, { credentials });
    const rule = { host: HOST, ports: [peer.port], addresses: LOOPBACK };
    const open = async (handle: string) => {
      const token = await egress.open(permitFor([{ ...rule, credential: handle }]));
      const { socket } = await egress.tunnel(`${HOST}:${peer.port}`, token);
      const secured = await secureTunnel(socket, HOST, inside.cert);
      secured.on('error', () => {}).write(`${GET.replace('PORT', String(peer.port))}\r\n`);
      await new Promise((resolve) => secured.once('data', resolve));
      return secured;
    };
    const [one, other] = [await open('user:tracker'), await open('tenant:registry')];
    const gone = new Promise((resolve) => one.once('close', resolve));
    expect(await egress.closeCredential((_, handle) => handle === 'user:tracker')).toEqual({ closed: 1 });
    await gone;
    expect(other.destroyed).toBe(false);
    await egress.stop();
  });
});
