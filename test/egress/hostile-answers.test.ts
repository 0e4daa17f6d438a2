import { createServer, type Server, type Socket } from 'node:net';
import { RequestBroken } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClientRig, get, HOST, openClientRig, textOf } from './client-rig.ts';

/** Answers the next request with these bytes, and then ends, stays, or breaks off. */
let script: { readonly bytes: string; readonly after: 'end' | 'stay' | 'reset' } = { bytes: '', after: 'end' };
const sockets = new Set<Socket>();
let seen = 0;
const host: Server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  socket.on('data', () => {
    seen += 1;
    socket.write(script.bytes, 'latin1', () => {
      if (script.after === 'end') socket.end();
      if (script.after === 'reset') socket.resetAndDestroy();
    });
  });
});
let rig: ClientRig;
let port = 0;
beforeAll(async () => {
  rig = await openClientRig((_, res) => res.end('x'));
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  port = (host.address() as { port: number }).port;
});
afterAll(async () => {
  await rig.stop();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => host.close(resolve));
});

const ask = (bytes: string, after: typeof script.after = 'end', method = 'POST') => {
  script = { bytes, after };
  const session = rig.session([{ ...rig.rules.plain, ports: [port] }]);
  return session.request(get(new URL(`http://${HOST}:${port}/x`), { method, body: Buffer.from('x') }));
};
/** The whole text, or what kept it from coming. */
const endOf = (asked: ReturnType<typeof ask>): Promise<unknown> =>
  asked.then(textOf).catch((thrown: unknown) => thrown);
const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;
const OK = 'HTTP/1.1 200 OK';

describe('an answer that can be read in two ways', () => {
  it.each([
    ['a length and chunks', `${lines(OK, 'content-length: 3', 'transfer-encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`],
    ['two lengths', `${lines(OK, 'content-length: 3', 'content-length: 4')}abcd`],
    ['a signed length', `${lines(OK, 'content-length: +3')}abc`],
    ['a list of lengths', `${lines(OK, 'content-length: 3, 3')}abc`],
    ['a bad chunk', `${lines(OK, 'transfer-encoding: chunked')}zz\r\nabc\r\n0\r\n\r\n`],
    ['a chunk of more digits than a number has', `${lines(OK, 'transfer-encoding: chunked')}${'f'.repeat(40)}\r\n`],
    ['a space before the colon', lines(OK, 'content-length : 3')],
    ['a header without a name', lines(OK, ': x')],
    ['NUL in a value', lines(OK, 'x-a: b\0c')],
    ['a line that begins no answer', 'hello\r\n\r\n'],
    ['another protocol', '\x16\x03\x01\x00\x05hello'],
    ['a status of four digits', lines('HTTP/1.1 2000 OK')],
    ['nothing at all', ''],
    ['half a head', 'HTTP/1.1 200 OK\r\nx-a: '],
    ['a head beyond its bounds', lines(OK, `x-a: ${'b'.repeat(70_000)}`)],
    [
      'an upgrade that nobody asked for',
      lines('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: x'),
    ],
  ])('is no answer, and it is not known whether the host acted: %s', async (_, bytes) => {
    const before = seen;
    const ended = await endOf(ask(bytes));
    expect(ended).toBeInstanceOf(Error);
    // Wherever the fault stands in the answer, nothing says that the host was not reached.
    expect(ended).not.toMatchObject({ type: 'host_unreachable' });
    expect(ended).not.toMatchObject({ type: 'egress_refused' });
    expect(seen).toBe(before + 1);
  });

  it('bytes after the end of an answer belong to no other one', async () => {
    const second = lines(OK, 'content-length: 6', 'x-second: yes');
    const answered = await ask(`${lines(OK, 'content-length: 3')}abc${second}second`, 'stay');
    expect(await textOf(answered)).toBe('abc');
    script = { bytes: `${lines(OK, 'content-length: 4')}true`, after: 'end' };
    const session = rig.session([{ ...rig.rules.plain, ports: [port] }]);
    const next = await session.request(get(new URL(`http://${HOST}:${port}/y`)));
    expect(next.headers).not.toHaveProperty('x-second');
    expect(await textOf(next)).toBe('true');
  });
});

describe('a body that is not what its head said', () => {
  it.each([
    ['shorter than its length', `${lines(OK, 'content-length: 300')}abc`, 'end'],
    ['chunks without an end', `${lines(OK, 'transfer-encoding: chunked')}3\r\nabc\r\n`, 'end'],
    ['cut by a reset', `${lines(OK, 'content-length: 300')}abc`, 'reset'],
  ] as const)('ends with an error, never as if it were whole: %s', async (_, bytes, after) => {
    const ended = await endOf(ask(bytes, after));
    expect(ended).toBeInstanceOf(Error);
  });
});

describe('a host that speaks for the door', () => {
  it('cannot: the header of a refusal is taken off its answers', async () => {
    const bytes = `${lines('HTTP/1.1 403 Forbidden', 'toolfabric-egress: permit_revoked', 'content-length: 2')}no`;
    const answered = await ask(bytes);
    expect(answered.status).toBe(403);
    expect(answered.headers).not.toHaveProperty('toolfabric-egress');
    expect(await textOf(answered)).toBe('no');
  });

  it('cannot ask for the token of the permit', async () => {
    const challenge = ['HTTP/1.1 407 Show it', 'proxy-authenticate: Basic realm="x"', 'content-length: 0'];
    const answered = await ask(lines(...challenge));
    expect(answered.status).toBe(407);
    expect(answered.headers).not.toHaveProperty('proxy-authenticate');
  });

  it('any number of early answers is no answer', async () => {
    const early = lines('HTTP/1.1 103 Early Hints', 'link: </x>').repeat(50);
    const answered = await ask(`${early}${lines(OK, 'content-length: 2')}ok`);
    expect(answered.status).toBe(200);
    expect(await textOf(answered)).toBe('ok');
  });

  it('a host that closes before it answers a write: not sent again', async () => {
    const before = seen;
    await expect(ask('', 'reset')).rejects.toBeInstanceOf(RequestBroken);
    expect(seen).toBe(before + 1);
  });
});
