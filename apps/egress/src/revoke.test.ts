import type { IncomingMessage, RequestListener } from 'node:http';
import type { EgressRule } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, testAuthority } from './testing/certificates.ts';
import { openEgress, permitFor, secureTunnel, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';
import type { Pem } from './tls/create-authority.ts';

const HOST = 'shop.example.com';
/** Never ends its answer. */
const endless: RequestListener = (_, res) => {
  const write = (): void => {
    while (!res.destroyed && res.write('x'.repeat(16_384)));
  };
  res.on('drain', write);
  write();
};
let inside: Pem;
let outside: Pem;
let peer: Peer;
let egress: TestEgress;
beforeAll(async () => {
  [inside, outside] = await Promise.all([testAuthority(), testAuthority()]);
  peer = await openPeer(await certificateFor([HOST], outside), endless);
  egress = await openEgress({ authority: inside, extraCa: [outside.cert] });
});
afterAll(async () => {
  await egress.stop();
  await peer.stop();
});

const flow = async (rule: Partial<EgressRule>, ca: Pem) => {
  const rules = [{ host: HOST, ports: [peer.port], addresses: ['127.0.0.0/8'], ...rule }];
  const permit = permitFor(rules, { maxBytes: 10_000_000_000 });
  const { socket } = await egress.tunnel(`${HOST}:${peer.port}`, await egress.open(permit));
  const secured = await secureTunnel(socket, HOST, ca.cert);
  const gone = new Promise<void>((resolve) => secured.on('error', () => {}).once('close', () => resolve()));
  secured.resume();
  secured.write(`POST / HTTP/1.1\r\nhost: ${HOST}:${peer.port}\r\ntransfer-encoding: chunked\r\n\r\n`);
  const chunk = `4000\r\n${'y'.repeat(0x4000)}\r\n`;
  const write = (): void => {
    while (!secured.destroyed && secured.write(chunk));
  };
  secured.on('drain', write);
  write();
  const before = peer.bytes;
  await expect.poll(() => peer.bytes - before).toBeGreaterThan(100_000);
  return { permit, gone };
};

describe('a revocation while bytes flow', () => {
  it.each(['passed through', 'read'])(
    'protocol 7: ends both sides, and says so once they are closed (%s)',
    async (how) => {
      const read = how === 'read';
      const { permit, gone } = await flow(read ? { methods: ['POST'] } : {}, read ? inside : outside);
      const { closed } = await egress.revoke({ callId: permit.callId, epoch: 1 });
      expect(closed).toBe(1);
      await gone;
      await expect.poll(() => egress.attempts.at(-1)).toMatchObject({ verdict: 'closed', reason: 'permit_revoked' });
      const after = egress.attempts.at(-1)?.bytesOut ?? 0;
      expect(after).toBeGreaterThan(100_000);
    },
  );

  it.each(['passed through', 'read', 'read, by a client that died'])(
    'protocol 7: to a host that reads nothing and says nothing, what waits in the kernel is not sent (%s)',
    async (how) => {
      const [read, died] = [how.startsWith('read'), how.endsWith('died')];
      let held: IncomingMessage | undefined;
      const silent = await openPeer(await certificateFor([HOST], outside), (req) => {
        held = req.pause();
      });
      const rule = { host: HOST, ports: [silent.port], addresses: ['127.0.0.0/8'] };
      const permit = permitFor([read ? { ...rule, methods: ['POST'] } : rule]);
      const { socket } = await egress.tunnel(`${HOST}:${silent.port}`, await egress.open(permit));
      const secured = await secureTunnel(socket, HOST, read ? inside.cert : outside.cert);
      secured.on('error', () => {});
      const body = 'y'.repeat(400_000);
      secured.write(`POST / HTTP/1.1\r\nhost: ${HOST}:${silent.port}\r\ncontent-length: 400000\r\n\r\n${body}`);
      await expect.poll(() => silent.seen.length, { timeout: 15_000 }).toBe(1);
      const isClosed = () => egress.attempts.some((one) => one.verdict === 'closed' && one.port === silent.port);
      if (died) socket.destroy();
      if (died) await expect.poll(isClosed, { timeout: 15_000 }).toBe(true);
      expect(await egress.revoke({ callId: permit.callId, epoch: 1 })).toEqual({ closed: died ? 0 : 1 });
      held?.resume();
      // Not an orderly end, before which all of it would still come.
      await expect.poll(() => silent.resets, { timeout: 15_000 }).toBe(1);
      await silent.stop();
    },
  );

  it('the permit of another call goes on', async () => {
    const [one, other] = [await flow({}, outside), await flow({}, outside)];
    await egress.revoke({ callId: one.permit.callId, epoch: 5 });
    await one.gone;
    const before = peer.bytes;
    await expect.poll(() => peer.bytes - before).toBeGreaterThan(1_000_000);
    expect(await egress.revoke({ callId: other.permit.callId, epoch: 1 })).toEqual({ closed: 1 });
    await other.gone;
  });
});
