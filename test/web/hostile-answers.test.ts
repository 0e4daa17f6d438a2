import { createServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { EGRESS_PERMIT_TYPE, type Outcome } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEgress, permitFor, routerSigner, type TestEgress } from '../../apps/egress/src/testing/open-egress.ts';
import { httpRequestTool } from '../../apps/worker-web/src/http-request/http-request.ts';
import { openCall } from '../../apps/worker-web/src/http-request/testing/open-call.ts';

/** A server that was written to, and then says whatever it likes. */
let answer: (socket: Socket) => void;
let requests: string[] = [];
let server: Server;
let port: number;
let egress: TestEgress;
const open = new Set<Socket>();
const tool = httpRequestTool({ agent: 'Test/1' });

const answerTo = (socket: Socket): void => {
  open.add(socket);
  socket.on('close', () => open.delete(socket)).on('error', () => {});
  let text = '';
  socket.on('data', (part) => {
    text += part.toString('latin1');
    if (!text.endsWith('{"body":"b"}')) return;
    requests.push(text);
    text = '';
    answer(socket);
  });
};

beforeAll(async () => {
  egress = await openEgress();
  server = createServer(answerTo);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as { port: number }).port;
}, 30_000);
beforeEach(() => {
  requests = [];
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await Promise.all([egress.stop(), new Promise((resolve) => server.close(resolve))]);
});

/** One write; an error where the tool has thrown after its effect had begun, which its worker tells as unknown. */
const write = async (): Promise<Outcome | Error> => {
  const rules = [{ host: '127.0.0.1', scheme: 'http' as const, ports: [port], addresses: ['127.0.0.0/8'] }];
  const door = createEgressDoor({ socketPath: egress.socketPath });
  const session = door.session(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permitFor(rules))));
  const operation = {
    base: `http://127.0.0.1:${port}`,
    method: 'POST',
    path: '/notes',
    body: { fields: ['body'] },
    success: [201],
    refusals: [422],
  };
  const { ctx, begun } = openCall(operation, { egress: session });
  try {
    const end = await tool.handle(ctx, { body: 'b' }).catch((thrown: unknown) => thrown as Error);
    expect(begun).toHaveLength(1);
    return end;
  } finally {
    await session.close();
  }
};

const says =
  (...parts: (string | Uint8Array)[]) =>
  (socket: Socket): void => {
    for (const part of parts) socket.write(part);
    socket.end();
  };
const head = (status: string, ...headers: string[]): string => [`HTTP/1.1 ${status}`, ...headers, '', ''].join('\r\n');
const encoded = (body: Uint8Array): [string, Uint8Array] => [
  head('201 Created', 'content-encoding: gzip', `content-length: ${body.length}`),
  body,
];

describe('RE-2, WB-4: a server that was written to and answers in a way that says nothing', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['no answer', (socket) => void socket.destroy()],
    ['another protocol', says('SSH-2.0-OpenSSH_9.2\r\n')],
    ['an answer without a head', says('<html>written</html>')],
    ['half a head', says('HTTP/1.1 201 Cre')],
    ['two lengths', says(head('422 No', 'content-length: 2', 'content-length: 7'), '{}')],
    ['a length and chunks', says(head('422 No', 'content-length: 2', 'transfer-encoding: chunked'), '0\r\n\r\n')],
    [
      'headers without an end',
      says(head('422 No', ...Array.from({ length: 4_000 }, (_, at) => `x-${at}: ${'y'.repeat(60)}`))),
    ],
    ['a status that is none', says(head('99 No', 'content-length: 0'))],
    ['a change of the protocol', says(head('101 Switching', 'connection: upgrade', 'upgrade: x'))],
    ['another address', says(head('307 Temporary', 'location: http://127.0.0.1:1/', 'content-length: 0'))],
    ['a refusal whose body breaks off', says(head('422 No', 'content-length: 500'), '{"error":')],
    ['a refusal in broken chunks', says(head('422 No', 'transfer-encoding: chunked'), 'zz\r\n{}')],
    ['a success whose body blows up', says(...encoded(gzipSync(Buffer.alloc(30_000_000))))],
    ['a success whose encoding is broken', says(...encoded(Buffer.from('no gzip')))],
    ['a success in an unknown encoding', says(head('201 Created', 'content-encoding: zz', 'content-length: 2'), '{}')],
  ])('with %s: it is not known, never that nothing was done, and not sent again', async (_, said) => {
    answer = said;
    const end = await write();
    expect(requests).toHaveLength(1);
    if (end instanceof Error) return;
    expect(end).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['hints before it', says(head('103 Early Hints', 'link: </x>'), head('201 Created', 'content-length: 2'), '{}')],
    [
      'a second answer behind it',
      says(head('201 Created', 'content-length: 2'), '{}', head('422 No', 'content-length: 0')),
    ],
    [
      'a body without an end',
      (socket) => {
        socket.write(head('201 Created', 'content-type: text/plain'));
        const more = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 97)));
        };
        socket.on('drain', more);
        more();
      },
    ],
    [
      'a session in its headers',
      says(head('201 Created', 'set-cookie: canary=1', 'x-y: a\tb', 'content-length: 2'), '{}'),
    ],
  ])('with a success and %s: it is done', async (_, said) => {
    answer = said;
    const end = await write();
    expect(requests).toHaveLength(1);
    expect(end).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(JSON.stringify(end)).not.toContain('canary');
  });
});
