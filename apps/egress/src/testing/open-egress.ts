import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { EGRESS_PERMIT_TYPE, type EgressPermit, type EgressRule } from '@toolfabric/contract';
import { createSigner, createVerifier, generateSigningKey } from '@toolfabric/kernel';
import type { EgressAttempt } from '../attempts.ts';
import { DEFAULT_LIMITS, type EgressLimits } from '../limits.ts';
import { type EgressPorts, type EgressSettings, startEgress } from '../start-egress.ts';

const router = generateSigningKey('router-1', ['router']);
export const routerSigner = createSigner('router-1', router.privateKey);
let calls = 0;

/** A permit of a call of its own, for so many rules. */
export const permitFor = (rules: readonly EgressRule[], over: Partial<EgressPermit> = {}): EgressPermit => ({
  kind: 'web',
  actor: { tenant: 'acme', user: 'ann', agent: 'coder' },
  taskId: 't-0123456789abcdefghjkmnpqrs',
  callId: `2969-${String(++calls).padStart(26, '0')}`,
  epoch: 1,
  rules: [...rules],
  maxBytes: 50_000_000,
  maxConnections: 16,
  expires: Date.now() + 60_000,
  ...over,
});

/** An answer in raw form. */
export interface Answer {
  readonly status: number;
  readonly reason: string | undefined;
  readonly body: string;
}

/** Every name resolves to 127.0.0.1 unless a port says otherwise. */
const toLoopback = { resolve: () => Promise.resolve(['127.0.0.1']) };

export const openEgress = async (
  settings: Partial<EgressSettings> = {},
  ports: Partial<EgressPorts> = {},
  limits: Partial<EgressLimits> = {},
) => {
  const folder = mkdtempSync(join(tmpdir(), 'egress-'));
  const socketPath = join(folder, 'run', 'egress.sock');
  const attempts: EgressAttempt[] = [];
  const running = await startEgress(
    {
      socket: { path: socketPath },
      verifier: createVerifier([router.entry]),
      kinds: ['web'],
      limits: { ...DEFAULT_LIMITS, ...limits },
      ...settings,
    },
    { attempts: { record: (attempt) => attempts.push(attempt) }, resolver: toLoopback, ...ports },
  );
  const own = (method: string, headers: Record<string, string>, body = '') =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request({ socketPath, path: '/v1/permits', method, headers, agent: false }, (res) => {
        res.setEncoding('utf8');
        let text = '';
        res.on('data', (chunk: string) => {
          text += chunk;
        });
        const reason = res.headers['toolfabric-egress'] as string | undefined;
        res.on('end', () => resolve({ status: res.statusCode ?? 0, reason, body: text }));
      });
      asked.on('error', reject).end(body);
    });
  const post = (body: string) => own('POST', {}, body);
  const open = async (permit: EgressPermit): Promise<string> => {
    const answer = await post(JSON.stringify(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permit))));
    if (answer.status !== 201) throw new Error(`refused: ${answer.reason}`);
    return (JSON.parse(answer.body) as { token: string }).token;
  };
  return {
    ...running,
    socketPath,
    attempts,
    post,
    open,
    close: (token: string) => own('DELETE', { authorization: `Bearer ${token}` }),
    raw: (text: string) => exchangeRaw(connect(socketPath), text),
    tunnel: (target: string, token: string) => openTunnel(socketPath, target, token),
    stop: async () => {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
export type TestEgress = Awaited<ReturnType<typeof openEgress>>;

export const basic = (token: string) => `Basic ${Buffer.from(`call:${token}`).toString('base64')}`;

const parseAnswer = (text: string): Answer => {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const reason = /^toolfabric-egress: (.*)$/im.exec(head)?.[1];
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), reason, body: rest.join('\r\n\r\n') };
};

/** Writes, and reads until the other side ends. */
export const exchangeRaw = (socket: Socket, text: string): Promise<Answer> =>
  new Promise((resolve) => {
    let got = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      got += chunk;
    });
    socket.on('error', () => {}).once('close', () => resolve(parseAnswer(got)));
    if (text !== '') socket.write(text, 'latin1');
  });

/** A CONNECT: the socket when it was let through, the answer when it was not. */
export const openTunnel = (
  socketPath: string,
  target: string,
  token: string,
): Promise<{ socket: Socket; refused?: Answer }> =>
  new Promise((resolve, reject) => {
    const headers = { 'proxy-authorization': basic(token), host: target };
    const asked = request({ socketPath, method: 'CONNECT', path: target, headers, agent: false });
    asked.on('error', reject).once('connect', (res, socket, head) => {
      if (res.statusCode === 200) return resolve({ socket: socket as Socket });
      const refused = exchangeRaw(socket as Socket, '');
      const reason = res.headers['toolfabric-egress'] as string | undefined;
      void refused.then(({ body }) =>
        resolve({
          socket: socket as Socket,
          refused: { status: res.statusCode ?? 0, reason, body: head.toString() + body },
        }),
      );
    });
    asked.end();
  });

/** TLS inside a tunnel. Rejects when the handshake does. */
export const secureTunnel = (socket: Socket, servername: string, ca: string): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const name = servername === '' ? { host: '127.0.0.1' } : { servername };
    const secured = connectTls({ socket, ca, ...name }, () => resolve(secured));
    secured.once('error', reject).once('close', () => reject(new Error('closed')));
  });
