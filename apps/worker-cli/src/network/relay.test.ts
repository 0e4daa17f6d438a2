import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Relay } from './relay.ts';

const HOST = 'Host: x.test\r\n';

let directory: string;
let egress: HttpServer;
let inside: Server;
let relay: Relay;
let asked: { url: string; trailer: string | undefined; authorization: string | undefined }[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'relay-'));
  asked = [];
  egress = createServer((req, res) => {
    const { url = '', headers } = req;
    asked.push({ url, trailer: headers.trailer, authorization: headers['proxy-authorization'] });
    if (url.startsWith('http://raw.test/')) req.socket.end(decodeURIComponent(url.slice(16)));
    else if (!url.startsWith('http://silent.test/')) res.end('here');
  });
  await new Promise<void>((resolve) => egress.listen(join(directory, 'egress'), resolve));
  relay = new Relay({ socketPath: join(directory, 'egress'), token: 'a-token-of-this-call' });
  inside = createTcpServer();
  relay.listen(inside);
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  relay.close();
  egress.closeAllConnections();
  await new Promise((resolve) => egress.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

const open = (): Socket => connect((inside.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});

/** Everything that comes until the other side ends. */
const say = (text: string): Promise<string> =>
  new Promise((resolve) => {
    let said = '';
    const socket = open();
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.once('close', () => resolve(said));
    socket.write(text);
  });

const close = 'Connection: close\r\n';
const whole = () => say(`GET http://x.test/ HTTP/1.1\r\n${HOST}${close}\r\n`);

describe('CL-6: what stands between a sandbox and the egress', () => {
  it.each([
    `GET http://x.test/ HTTP/1.1\r\n${HOST}Trailer: x\r\n${close}\r\n`,
    `POST http://x.test/ HTTP/1.1\r\n${HOST}Trailer: x\r\nContent-Length: 0\r\nTE: trailers\r\n${close}\r\n`,
  ])('a program that announces trailers does not end the worker: %j', async (text) => {
    expect(await say(text)).toMatch(/^HTTP\/1\.1 200 /);
    const authorization = `Basic ${Buffer.from('call:a-token-of-this-call').toString('base64')}`;
    expect(asked).toEqual([{ url: 'http://x.test/', trailer: undefined, authorization }]);
  });

  it.each([
    'HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 O\u0001K\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\nok',
  ])('nor does an answer that cannot be passed on: %j', async (answer) => {
    await say(`GET http://raw.test/${encodeURIComponent(answer)} HTTP/1.1\r\n${HOST}${close}\r\n`);
    expect(await whole()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('who asks without end and reads nothing opens a bounded number of connections to the egress', async () => {
    await say(`GET http://silent.test/ HTTP/1.1\r\n${HOST}\r\n`.repeat(2_000));
    expect(asked.length).toBeLessThanOrEqual(128);
    expect(relay.refused.list).toEqual([{ host: 'silent.test', reason: 'too_many_connections', times: 1 }]);
  });
});
