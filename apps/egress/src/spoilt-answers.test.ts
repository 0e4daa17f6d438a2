import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, exchangeRaw, openEgress, permitFor, type TestEgress } from './testing/open-egress.ts';

const HEADS: Readonly<Record<string, string>> = {
  '/named': 'HTTP/1.1 200 OK\r\nconnection: content-length\r\ncontent-length: 2\r\n\r\nok',
  '/status': 'HTTP/1.1 099 Strange\r\ncontent-length: 2\r\n\r\nok',
};
const host = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', (bytes) => socket.write(HEADS[/ (\S+) HTTP/.exec(bytes.toString('latin1'))?.[1] ?? ''] ?? ''));
});
let egress: TestEgress;
beforeAll(async () => {
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  egress = await openEgress();
});
afterAll(async () => {
  await egress.stop();
  host.close();
});

describe('an answer that cannot be passed on', () => {
  it.each(Object.keys(HEADS))('RS-1: is never said to be a request that did not go out (%s)', async (path) => {
    const { port } = host.address() as AddressInfo;
    const rule = { host: 'shop.example.com', scheme: 'http' as const, ports: [port], addresses: ['127.0.0.0/8'] };
    const token = await egress.open(permitFor([rule]));
    const address = `shop.example.com:${port}`;
    const lines = [`POST http://${address}${path} HTTP/1.1`, `host: ${address}`, 'content-length: 0'];
    const text = `${[...lines, `proxy-authorization: ${basic(token)}`].join('\r\n')}\r\n\r\n`;
    expect(await exchangeRaw(connect(egress.socketPath), text)).toMatchObject({
      status: 502,
      reason: 'response_malformed',
    });
  });
});
