import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArtifactStore } from '@toolfabric/artifact-http';
import { noFaults, PACES, silentLogger, systemClock } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from './archive/limits.ts';
import { startArtifacts } from './start-artifacts.ts';
import { callPermit, PUBLIC_KEYS, sign } from './testing/artifacts-under-test.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-tls-'));
  const subject = ['-subj', '/CN=artifacts', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      ...subject,
      ...files,
    ],
    {
      stdio: 'ignore',
    },
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

const serve = (listen: { host: string; tls?: boolean; insecure?: boolean }) =>
  startArtifacts(
    {
      listen: {
        host: listen.host,
        port: 0,
        insecure: listen.insecure ?? false,
        ...(listen.tls ? { tls: { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') } } : {}),
      },
      store: { type: 'directory', directory: join(folder, 'store') },
      publicKeys: PUBLIC_KEYS,
      limits: DEFAULT_LIMITS,
      sweepEveryMs: 60_000,
      pace: PACES.test,
      faults: noFaults,
    },
    { emit: () => {}, store: async () => {} },
    silentLogger,
    systemClock,
  );
async function* body() {
  yield Buffer.from('over TLS');
}
const named = { name: 'x', mediaType: 'text/plain', trust: 'untrusted' } as const;

describe('TLS and the rule of listening', () => {
  it.each(['0.0.0.0', '::', '10.0.0.1', 'artifacts.example'])(
    'refuses to take permits in the clear on %s',
    async (host) => {
      await expect(serve({ host })).rejects.toThrow('without TLS');
    },
  );

  it('serves over TLS to who trusts its certificate, and to nobody else', async () => {
    const server = await serve({ host: '0.0.0.0', tls: true });
    const url = `https://127.0.0.1:${server.address.split(':').at(-1)}`;
    const signal = AbortSignal.timeout(20_000);
    const store = createArtifactStore({ url, ca: readFileSync(join(folder, 'cert.pem'), 'utf8') });
    const session = store.session(sign(callPermit()));
    expect(await session.put(named, body(), signal)).toMatchObject({ size: 8 });
    const stranger = createArtifactStore({ url });
    await expect(stranger.session(sign(callPermit())).put(named, body(), signal)).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    store.close();
    stranger.close();
    await server.stop();
  });

  it('listens in the clear beyond loopback when a person says so', async () => {
    const server = await serve({ host: '0.0.0.0', insecure: true });
    await server.stop();
  });
});
