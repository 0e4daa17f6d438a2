import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { selfSigned } from './testing/self-signed.ts';

const CALL = { taskId: 't-00000000000000000000000000', tool: 'a.b', args: {} };
const folder = mkdtempSync(join(tmpdir(), 'toolfabric-tls-'));
const own = selfSigned();
const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
let open: OpenGateway<FabricClient>;
beforeAll(async () => {
  writeFileSync(tls.certFile, own.cert);
  writeFileSync(tls.keyFile, own.key);
  open = await openGateway(connectFabric, new ScriptedRouter().ports(), { listen: { tls } });
});
afterAll(async () => {
  await open.close();
  rmSync(folder, { recursive: true });
});

describe('TLS', () => {
  it('serves a client that knows the certificate', async () => {
    const client = connectFabric({ address: open.gateway.address, token: open.alice, tls: { ca: own.cert } });
    expect((await client.startCall(CALL)).state).toBe('queued');
    client.close();
  });

  it('a client does not send its token to a server with another certificate', async () => {
    const other = selfSigned().cert;
    const client = connectFabric({ address: open.gateway.address, token: open.alice, tls: { ca: other } });
    await expect(client.startCall(CALL, { timeoutMs: 300 })).rejects.toMatchObject({ type: 'unavailable' });
    client.close();
  });

  it('a client in the clear gets nowhere', async () => {
    const client = connectFabric({ address: open.gateway.address, token: open.alice });
    await expect(client.startCall(CALL, { timeoutMs: 300 })).rejects.toMatchObject({ type: 'unavailable' });
    client.close();
  });

  it('a gateway without its certificate does not start', async () => {
    const missing = openGateway(connectFabric, new ScriptedRouter().ports(), {
      listen: { tls: { ...tls, certFile: '/nowhere' } },
    });
    await expect(missing).rejects.toThrow('ENOENT');
  });

  it('a gateway beyond loopback without TLS does not start', async () => {
    const open = openGateway(connectFabric, new ScriptedRouter().ports(), { listen: { host: '0.0.0.0' } });
    await expect(open).rejects.toThrow('without TLS');
  });
});
