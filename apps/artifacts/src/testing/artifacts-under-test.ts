import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArtifactPermit, type Envelope, type FabricEvent, PERMIT_TYPE } from '@toolfabric/contract';
import {
  artifactIdFor,
  type Clock,
  createSigner,
  generateSigningKey,
  noFaults,
  PACES,
  silentLogger,
  systemClock,
} from '@toolfabric/kernel';
import { type ArchiveLimits, DEFAULT_LIMITS } from '../archive/limits.ts';
import type { Patience } from '../http/stream-body.ts';
import { type ArtifactsServer, startArtifacts } from '../start-artifacts.ts';
import type { StoreConfig } from '../store/open-store.ts';

export const ADA = { tenant: 'acme', user: 'ada', agent: 'coder' } as const;
export const BOB = { ...ADA, user: 'bob' } as const;
export const RIVAL = { ...ADA, tenant: 'rival' } as const;

const key = generateSigningKey('router-1', ['router']);
const foreignKey = generateSigningKey('router-1', ['router']);
const workerKey = generateSigningKey('worker-1', ['worker']);
export const PUBLIC_KEYS = [key.entry, workerKey.entry];
const signer = createSigner('router-1', key.privateKey);

export const sign = (permit: ArtifactPermit): Envelope => signer.sign(PERMIT_TYPE, JSON.stringify(permit));
export const signAs = (who: 'foreign' | 'worker' | 'other-type', permit: ArtifactPermit): Envelope => {
  if (who === 'other-type') return signer.sign('toolfabric/work/1', JSON.stringify(permit));
  const other =
    who === 'foreign'
      ? createSigner('router-1', foreignKey.privateKey)
      : createSigner('worker-1', workerKey.privateKey);
  return other.sign(PERMIT_TYPE, JSON.stringify(permit));
};

export type CallPermit = Extract<ArtifactPermit, { action: 'call' }>;
export const callPermit = (over: Partial<CallPermit> = {}): CallPermit => ({
  action: 'call',
  actor: ADA,
  taskId: 't-1',
  callId: '2969-call1',
  epoch: 1,
  maxBytes: 512 * 1024 * 1024,
  retentionDays: 7,
  expires: Date.now() + 60_000,
  ...over,
});
export const readPermit = (artifactId: string, actor: CallPermit['actor'] = ADA): Envelope =>
  sign({ action: 'read', actor, artifactId, expires: Date.now() + 60_000 });
export const managePermit = (artifactId: string, actor: CallPermit['actor'] = ADA): Envelope =>
  sign({ action: 'manage', actor, artifactId, expires: Date.now() + 60_000 });
export const listPermit = (actor: CallPermit['actor'] = ADA): Envelope =>
  sign({ action: 'list', actor, expires: Date.now() + 60_000 });

export const idOf = (permit: CallPermit, name: string): string =>
  artifactIdFor(permit.actor.tenant, permit.callId, permit.epoch, name);

export const nameHeader = (name: string): string =>
  `UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)}`;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Type of the error, where there is one. */
  readonly error: string | undefined;
  json<T>(): T;
}

export interface Ask {
  readonly method?: string;
  readonly permit?: Envelope | undefined;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** A bare HTTP request, for what the client library would never send. */
export const ask = (
  address: string,
  path: string,
  { method = 'GET', permit, headers, body }: Ask = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const [host, port] = address.split(':');
    const authorization = permit && `Permit ${Buffer.from(JSON.stringify(permit)).toString('base64url')}`;
    const sent = request({
      host,
      port,
      path,
      method,
      agent: false,
      headers: { ...(authorization === undefined ? {} : { authorization }), ...headers },
    });
    sent.on('error', reject);
    sent.on('response', async (response) => {
      try {
        const parts: Buffer[] = [];
        for await (const part of response) parts.push(part as Buffer);
        const whole = Buffer.concat(parts);
        const isJson = response.headers['content-type'] === 'application/json';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: whole,
          error: isJson ? JSON.parse(whole.toString('utf8'))?.error?.type : undefined,
          json: () => JSON.parse(whole.toString('utf8')),
        });
      } catch (thrown) {
        reject(thrown);
      }
    });
    sent.end(body);
  });

export interface UnderTest {
  readonly server: ArtifactsServer;
  readonly address: string;
  readonly url: string;
  readonly directory: string;
  readonly events: FabricEvent[];
  ask(path: string, ask?: Ask): Promise<Answer>;
  put(permit: CallPermit, name: string, body: string | Uint8Array, headers?: OutgoingHttpHeaders): Promise<Answer>;
  append(permit: CallPermit, name: string, offset: number, body: string, skip?: number): Promise<Answer>;
  /** Stops it and starts another one over the same store. */
  restart(): Promise<UnderTest>;
  stop(): Promise<void>;
}

export interface TestOptions {
  readonly limits?: Partial<ArchiveLimits>;
  readonly clock?: Clock;
  readonly patience?: Patience;
  readonly store?: StoreConfig;
  readonly directory?: string;
  readonly sweepEveryMs?: number;
}

/** The real server over a folder of its own, in this process. */
export const startUnderTest = async (options: TestOptions = {}): Promise<UnderTest> => {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'toolfabric-artifacts-'));
  const events: FabricEvent[] = [];
  const log = { emit: (event: FabricEvent) => void events.push(event), store: async () => {} };
  const server = await startArtifacts(
    {
      listen: { host: '127.0.0.1', port: 0, insecure: false },
      store: options.store ?? { type: 'directory', directory },
      publicKeys: PUBLIC_KEYS,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      sweepEveryMs: options.sweepEveryMs ?? 50,
      pace: { ...PACES.test, drainMs: 500 },
      faults: noFaults,
    },
    log,
    silentLogger,
    options.clock ?? systemClock,
    ...(options.patience === undefined ? [] : [options.patience]),
  );
  const { address } = server;
  return {
    server,
    address,
    url: `http://${address}`,
    directory,
    events,
    ask: (path, asked) => ask(address, path, asked),
    put: (permit, name, body, headers) =>
      ask(address, `/v1/artifacts/${idOf(permit, name)}`, {
        method: 'PUT',
        permit: sign(permit),
        headers: { 'toolfabric-name': nameHeader(name), 'content-type': 'text/plain', ...headers },
        body,
      }),
    append: (permit, name, offset, body, skip = 0) =>
      ask(address, `/v1/logs/${idOf(permit, name)}?offset=${offset}&skip=${skip}`, {
        method: 'POST',
        permit: sign(permit),
        headers: { 'toolfabric-name': nameHeader(name), 'content-type': 'text/plain' },
        body,
      }),
    restart: async () => {
      await server.stop();
      return startUnderTest({ ...options, directory });
    },
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
