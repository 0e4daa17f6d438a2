import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createArtifactStore } from '@toolfabric/artifact-http';
import { PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, FabricError, type FaultPoint, sha256Hex } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { type SpawnedService, spawnService, startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callPermit, idOf } from './testing/artifacts-under-test.ts';
import { type S3Peer, startS3Peer } from './testing/s3-peer.ts';

const APP = fileURLToPath(new URL('..', import.meta.url));
const signal = AbortSignal.timeout(120_000);
let nats: TestNats;
let peer: S3Peer;
let folder: string;
let service: SpawnedService | undefined;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  peer = await startS3Peer();
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-s3-kill-'));
  const files = {
    seed: nats.seeds['artifacts'] ?? '',
    keys: JSON.stringify(nats.signing.publicKeys),
    'bus-keys': JSON.stringify(nats.busKeys),
    id: 'S3RVER',
    secret: 'S3RVER',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
});
afterEach(async () => {
  service?.kill();
  await service?.exited;
});
afterAll(async () => {
  await nats?.stop();
  await peer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const serve = async (faults = ''): Promise<ReturnType<typeof createArtifactStore>> => {
  service = spawnService(APP, {
    TOOLFABRIC_NATS_URL: nats.url,
    TOOLFABRIC_NKEY_SEED_FILE: join(folder, 'seed'),
    TOOLFABRIC_BUS_KEYS_FILE: join(folder, 'bus-keys'),
    TOOLFABRIC_PUBLIC_KEYS_FILE: join(folder, 'keys'),
    TOOLFABRIC_ARTIFACTS_PORT: '0',
    TOOLFABRIC_ARTIFACTS_S3_BUCKET: peer.config.bucket,
    TOOLFABRIC_ARTIFACTS_S3_ENDPOINT: peer.config.endpoint ?? '',
    TOOLFABRIC_ARTIFACTS_S3_PATH_STYLE: '1',
    TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE: join(folder, 'id'),
    TOOLFABRIC_ARTIFACTS_S3_SECRET_KEY_FILE: join(folder, 'secret'),
    TOOLFABRIC_PACE: 'test',
    TOOLFABRIC_TEST: '1',
    TOOLFABRIC_FAULTS: faults,
  });
  return createArtifactStore({ url: `http://${(await service.ready)['address']}` });
};
const body = (text: string) =>
  (async function* () {
    const block = Buffer.alloc(1024 * 1024, text);
    for (let n = 0; n < 8; n++) yield block;
  })();
const named = { name: 'x', mediaType: 'text/plain', trust: 'untrusted' } as const;

describe('a store over S3 that is killed', () => {
  it.each([
    ['artifacts.receiving', 3, 'absent'],
    ['artifacts.after-blob', 1, 'absent'],
    ['artifacts.after-document', 1, 'whole'],
  ] as const)(
    'RS-4: at %s (%i) a put is %s for the next process, and the same put again succeeds',
    async (point: FaultPoint, hit, state) => {
      const signer = createSigner(nats.signing.kid, nats.signing.privateKey);
      const permit = callPermit({ callId: `2969-${point}` });
      const envelope = signer.sign(PERMIT_TYPE, JSON.stringify(permit));
      const put = (store: ReturnType<typeof createArtifactStore>) =>
        store.session(envelope).put(named, body(point), signal);
      const armed = await serve(`${point}:kill:${hit}`);
      await expect(put(armed)).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await service?.exited).toMatchObject({ signal: 'SIGKILL' });

      const store = await serve();
      const read = async () => {
        const parts: Uint8Array[] = [];
        for await (const part of store.session(envelope).read(idOf(permit, 'x'), undefined, signal)) parts.push(part);
        return sha256Hex(Buffer.concat(parts));
      };
      if (state === 'absent') await expect(read()).rejects.toBeInstanceOf(FabricError);
      const stored = await put(store);
      expect(await read()).toBe(stored.sha256);
      armed.close();
      store.close();
    },
  );
});
