import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEgressDoor } from '@toolfabric/egress-http';
import { RequestBroken } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permitFor } from '../../apps/egress/src/testing/open-egress.ts';
import { envelopeOf, get, HOST, textOf } from './client-rig.ts';

const folder = mkdtempSync(join(tmpdir(), 'broken-door-'));
const socketPath = join(folder, 'socket');
const TOKEN = 't'.repeat(43);
const sockets = new Set<Socket>();
let asked: string[] = [];
/** What the socket of the door answers to each text that comes; without an answer it closes, `wait` stays silent. */
let answers: readonly string[] = [];
const server: Server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  socket.setEncoding('latin1').on('data', (text: string) => {
    asked.push(text);
    const answer = answers[asked.length - 1];
    if (answer === 'wait') return;
    if (answer === undefined) return void socket.destroy();
    socket.write(answer, () => answer.endsWith('!') && socket.destroy());
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(socketPath, resolve)));
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const sized = (body: string, first = 'HTTP/1.1 201 Created') =>
  `${first}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const OPENED = sized(JSON.stringify({ token: TOKEN }));
const session = (path = socketPath) =>
  createEgressDoor({ socketPath: path }).session(envelopeOf(permitFor([{ host: HOST, scheme: 'http' }])));
const url = new URL(`http://${HOST}/x`);
const ask = (path?: string, over: Parameters<typeof get>[1] = {}) => session(path).request(get(url, over));
const script = (...texts: readonly string[]) => {
  asked = [];
  answers = texts;
};

describe('no door', () => {
  it('is told as such, and a later request finds the door that came back', async () => {
    const gone = session(join(folder, 'nowhere'));
    const request = gone.request(get(url));
    await expect(request).rejects.toMatchObject({ type: 'egress_unavailable' });
    await gone.close();
    script();
    const one = session();
    await expect(one.request(get(url))).rejects.toMatchObject({ type: 'egress_unavailable' });
    script(OPENED, sized('here', 'HTTP/1.1 200 OK'));
    expect(await textOf(await one.request(get(url)))).toBe('here');
  });

  it.each([
    ['no JSON', sized('hello')],
    ['no token', sized('{}')],
    ['a short token', sized('{"token":"x"}')],
    ['more than a token needs', sized(JSON.stringify({ token: TOKEN, more: 'x'.repeat(10_000) }))],
    ['no HTTP', 'hello!'],
    ['half an answer', `HTTP/1.1 201 Created\r\ncontent-length: 90\r\n\r\n{"token!`],
  ])('what answers is no door: %s', async (_, bytes) => {
    script(bytes);
    await expect(ask()).rejects.toMatchObject({ type: 'egress_unavailable' });
    expect(asked).toHaveLength(1);
  });

  it('that is silent holds nobody longer than they wait', async () => {
    script('wait');
    const stop = new AbortController();
    const waiting = ask(undefined, { signal: stop.signal });
    await expect.poll(() => asked.length, { timeout: 15_000 }).toBe(1);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('a door that dies', () => {
  it('after the request went out: nobody knows whether the host acted, and it is not sent again', async () => {
    script(OPENED);
    await expect(ask(undefined, { method: 'POST', body: Buffer.from('x') })).rejects.toBeInstanceOf(RequestBroken);
    expect(asked.filter((text) => text.startsWith('POST http://'))).toHaveLength(1);
  });

  it('in the middle of a body: the body ends with an error', async () => {
    script(OPENED, 'HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\nthe beginning!');
    const answered = await ask();
    await expect(textOf(answered)).rejects.toThrow();
  });

  it('while it is asked to close: closing ends all the same', async () => {
    script(OPENED, sized('here', 'HTTP/1.1 200 OK'));
    const one = session();
    await textOf(await one.request(get(url)));
    await one.close();
    expect(asked.at(-1)).toContain('DELETE /v1/permits');
    expect(asked.at(-1)).toContain(`Bearer ${TOKEN}`);
  });

  it('a kept connection that closed meanwhile: a read is asked again, a write is not', async () => {
    const kept = sized('one', 'HTTP/1.1 200 OK');
    script(OPENED, kept);
    const reads = session();
    await textOf(await reads.request(get(url)));
    answers = [OPENED, kept, '!', kept];
    expect(await textOf(await reads.request(get(url)))).toBe('one');
    script(OPENED, kept);
    const writes = session();
    await textOf(await writes.request(get(url)));
    answers = [OPENED, kept, '!', kept];
    const write = writes.request(get(url, { method: 'POST', body: Buffer.from('x') }));
    await expect(write).rejects.toBeInstanceOf(RequestBroken);
    expect(asked).toHaveLength(3);
  });
});
