import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import {
  callPermit,
  idOf,
  nameHeader,
  readPermit,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';

let under: UnderTest;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await under?.stop();
});

const id = idOf(callPermit(), 'x');
const authorization = (permit = sign(callPermit())) =>
  `Permit ${Buffer.from(JSON.stringify(permit)).toString('base64url')}`;
const dial = (): Socket & { text: () => string; gone: Promise<void> } => {
  const [host, port] = under.address.split(':');
  const socket = connect(Number(port), host);
  sockets.push(socket);
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  socket.on('error', () => {});
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return Object.assign(socket, { text: () => text, gone });
};
const begin = (headers: string): ReturnType<typeof dial> => {
  const socket = dial();
  socket.write(
    `PUT /v1/artifacts/${id} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization()}\r\ntoolfabric-name: ${nameHeader('x')}\r\n${headers}\r\n\r\n`,
  );
  return socket;
};
const status = async () => (await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) })).status;
const temporary = (): string[] => {
  const folder = join(under.directory, 'acme', 'tmp');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('bodies that break', () => {
  it.each([
    ['shorter than announced', 'content-length: 100', 'only this'],
    ['without its last chunk', 'transfer-encoding: chunked', '5\r\nhello\r\n'],
    ['in the middle of a chunk', 'transfer-encoding: chunked', 'ff\r\nhello'],
    ['with a broken chunk', 'transfer-encoding: chunked', '5\r\nhello\r\nzz\r\n'],
    ['before its first byte', 'content-length: 100', ''],
  ])('%s: nothing can be read, nothing stays', async (_what, headers, body) => {
    under = await startUnderTest();
    const socket = begin(headers);
    await waitFor(() => temporary().length === 1);
    socket.end(body);
    await waitFor(() => temporary().length === 0);
    expect(await status()).toBe(404);
    expect((await under.put(callPermit(), 'x', 'whole')).status).toBe(200);
  });

  it('longer than announced: the announced bytes or nothing, and the rest is no request', async () => {
    under = await startUnderTest();
    const socket = begin('content-length: 5');
    socket.write('helloGET /v1/artifacts HTTP/1.1\r\n\r\n\0\0');
    await socket.gone;
    expect(socket.text()).toContain('HTTP/1.1 400');
    await waitFor(() => temporary().length === 0);
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    expect(read.status === 404 || read.body.toString() === 'hello').toBe(true);
  });

  it('with two lengths is refused', async () => {
    under = await startUnderTest();
    const socket = begin('content-length: 5\r\ntransfer-encoding: chunked');
    socket.write('0\r\n\r\n');
    await socket.gone;
    expect([socket.text().slice(0, 12), await status()]).toEqual(['HTTP/1.1 400', 404]);
  });

  it('a connection that breaks in the middle leaves nothing', async () => {
    under = await startUnderTest();
    const socket = begin('transfer-encoding: chunked');
    socket.write(`100000\r\n${'x'.repeat(0x100000)}\r\n`);
    await waitFor(() => temporary().length === 1);
    socket.resetAndDestroy();
    await waitFor(() => temporary().length === 0);
    expect(await status()).toBe(404);
  });

  it('a reader that goes away ends its read', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'x', 'y'.repeat(20_000_000));
    const socket = dial();
    socket.write(
      `GET /v1/artifacts/${id} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization(readPermit(id))}\r\n\r\n`,
    );
    await waitFor(() => socket.text().length > 1_000);
    socket.pause();
    socket.resetAndDestroy();
    const told = await waitFor(() => under.events.find(({ type }) => type === 'artifact.read'));
    expect(told.attributes['bytes']).toBeLessThan(20_000_000);
  });

  it('a permit that ends while the body comes ends the body', async () => {
    under = await startUnderTest();
    const permit = sign(callPermit({ expires: Date.now() - 29_000 }));
    const socket = dial();
    socket.write(
      `PUT /v1/artifacts/${id} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization(permit)}\r\ntoolfabric-name: ${nameHeader('x')}\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n`,
    );
    await socket.gone;
    await waitFor(() => temporary().length === 0);
    expect(await status()).toBe(404);
  });

  it('headers that trickle in are cut off, and so is a small body that does, and a reader that does not read', async () => {
    const patience = { headersMs: 3_000, idleMs: 500, graceMs: 100_000, leastRate: 1 };
    under = await startUnderTest({ patience });
    await under.put(callPermit(), 'x', 'y'.repeat(50_000_000));
    const headers = dial();
    headers.write('GET /v1/artifacts HTTP/1.1\r\nhost: x\r\nx-a: ');
    const body = dial();
    body.write(
      `POST /v1/logs/${id}?offset=0 HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization()}\r\ncontent-length: 10\r\n\r\nab`,
    );
    const reader = dial();
    reader.pause();
    reader.write(
      `GET /v1/artifacts/${id} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization(readPermit(id))}\r\n\r\n`,
    );
    await Promise.all([
      body.gone,
      waitFor(() => under.events.some(({ type }) => type === 'artifact.read')),
      headers.gone,
    ]);
    expect(headers.text()).toContain('408');
  });

  it('is refused before it is sent when the sender waits for leave', async () => {
    under = await startUnderTest({ limits: { artifactBytes: 10 } });
    const socket = begin('content-length: 1000\r\nexpect: 100-continue');
    await waitFor(() => socket.text().includes('\r\n\r\n'));
    expect(socket.text()).toMatch(/^HTTP\/1.1 413/);
    const fine = begin('content-length: 2\r\nexpect: 100-continue');
    await waitFor(() => fine.text().includes('100 Continue'));
    fine.write('ok');
    await waitFor(() => fine.text().includes('HTTP/1.1 200'));
  });
});
