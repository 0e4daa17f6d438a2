import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWebRig, type WebRig } from './through-egress.ts';

const HOST = 'shop.example.com';
type Say = (socket: Socket, path: string) => void;
const answers: Record<string, Say> = {};
let rig: WebRig;
let server: Server;
let port = 0;
const open = new Set<Socket>();
beforeAll(async () => {
  rig = await openWebRig();
  server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).once('close', () => open.delete(socket));
    socket.on('data', (bytes) => {
      const path = /^[A-Z]+ (\S+)/.exec(bytes.toString('latin1'))?.[1] ?? '';
      answers[path]?.(socket, path);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
}, 30_000);
afterAll(async () => {
  await rig.stop();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const fetch = (say: Say, more: Parameters<WebRig['fetch']>[2] = {}) => {
  const path = `/${Object.keys(answers).length}`;
  answers[path] = say;
  return rig.fetch(`http://${HOST}:${port}${path}`, rig.rules(port, HOST), more);
};
const head = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const whole =
  (body: Buffer, ...lines: string[]): Say =>
  (socket) => {
    socket.write(head('content-type: text/plain', `content-length: ${body.length}`, ...lines));
    socket.write(body);
  };
/** Writes on and on, as fast as it is read. */
const endless =
  (...lines: string[]): Say =>
  (socket) => {
    socket.write(head('content-type: text/plain', ...lines));
    const pump = () => {
      while (!socket.destroyed && socket.write('x'.repeat(65_536))) {}
    };
    socket.on('drain', pump);
    pump();
  };

const nested = (depth: number) => {
  let body: Buffer = Buffer.from('deep');
  for (let level = 0; level < depth; level += 1) body = gzipSync(body);
  return body;
};

describe('WB-2: encodings of a body', () => {
  it('two are taken off; a third is refused before a byte of it is decoded', async () => {
    const { data } = await fetch(whole(nested(2), 'content-encoding: gzip, gzip'));
    expect(data['untrusted'].text).toBe('deep');
    const chain = fetch(whole(nested(3), 'content-encoding: gzip, gzip, gzip'));
    await expect(chain).rejects.toMatchObject({ type: 'content_refused' });
    const long = fetch(whole(Buffer.from('x'), `content-encoding: ${Array(2_000).fill('br').join(',')}`));
    await expect(long).rejects.toMatchObject({ type: 'content_refused' });
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(64 * 1024 ** 2))],
    ['br', brotliCompressSync(Buffer.alloc(64 * 1024 ** 2))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(64 * 1024 ** 2)))],
  ])('what grows a hundredfold in %s is refused', async (encoding, bomb) => {
    const blown = fetch(whole(bomb, `content-encoding: ${encoding}`));
    await expect(blown).rejects.toMatchObject({ type: 'content_refused' });
  });

  it.each([
    ['that nobody knows', 'content-encoding: rot13', Buffer.from('x')],
    ['that it has not', 'content-encoding: gzip', Buffer.from('no gzip at all')],
    ['that is cut', 'content-encoding: gzip', gzipSync(Buffer.from('x'.repeat(50_000))).subarray(0, 40)],
  ])('a body of an encoding %s is refused', async (_what, line, body) => {
    await expect(fetch(whole(body, line))).rejects.toMatchObject({ type: 'content_refused' });
  });
});

describe('WB-2: bodies that do not end as they should', () => {
  it.each([
    ['in chunks', 'transfer-encoding: identity'],
    ['with a length that no body has', 'content-length: 999999999999'],
  ])('an endless one %s is cut where it may be, and the connection closed', async (_what, line) => {
    const { data, truncation } = await fetch(endless(line));
    expect(data).toMatchObject({ body_cut: true, body_bytes: 8 * 1024 ** 2 });
    expect(truncation?.map(({ stream }) => stream)).toContain('body');
  });

  it('the bytes of a permit are the end of it too', async () => {
    await expect(fetch(endless('connection: close'), { permit: { maxBytes: 1024 ** 2 } })).rejects.toMatchObject({
      type: 'host_unreachable',
    });
  });

  it.each<[string, Say]>([
    ['no head', () => {}],
    ['a head that drips', (socket) => void socket.write('HTTP/1.1 200 OK\r\nx-slow: ')],
    ['a body that drips', (socket) => void socket.write(`${head('content-length: 100')}x`)],
    ['fewer bytes than it said', (socket) => socket.end(`${head('content-length: 100')}short`)],
    ['a chunk that is cut', (socket) => socket.end(`${head('transfer-encoding: chunked')}ff\r\nshort`)],
    [
      'a chunk with a length that is none',
      (socket) => socket.end(`${head('transfer-encoding: chunked')}zz\r\nx\r\n0\r\n\r\n`),
    ],
    ['two lengths', (socket) => socket.end(`${head('content-length: 5', 'content-length: 6')}hello!`)],
    ['a negative length', (socket) => socket.end(`${head('content-length: -1')}hello`)],
    [
      'a length and chunks',
      (socket) => socket.end(`${head('content-length: 5', 'transfer-encoding: chunked')}0\r\n\r\n`),
    ],
    ['a head that never ends', (socket) => void socket.write(head(`x: ${'y'.repeat(100_000)}`))],
    ['no HTTP at all', (socket) => socket.end('220 mail.example ESMTP\r\n')],
    ['nothing but a close', (socket) => socket.destroy()],
  ])('%s: the host cannot be had, and nothing is told as its content', async (_what, say) => {
    await expect(fetch(say)).rejects.toMatchObject({ type: 'host_unreachable' });
  });

  it('bytes behind the end of an answer are not part of the next one', async () => {
    const { data } = await fetch((socket) =>
      socket.write(`${head('content-length: 4')}good${head('content-length: 4')}evil`),
    );
    expect(data['untrusted'].text).toBe('good');
    const next = await fetch(whole(Buffer.from('mine')));
    expect(next.data['untrusted'].text).toBe('mine');
  });

  it('no connection of them is left open', async () => {
    await expect.poll(() => open.size, { timeout: 10_000 }).toBe(0);
  });
});
