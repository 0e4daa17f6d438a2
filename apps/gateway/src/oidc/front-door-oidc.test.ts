import { status } from '@grpc/grpc-js';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { createLogger } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalIssuer } from '../testing/local-issuer.ts';
import { type OpenGateway, openGateway } from '../testing/open-gateway.ts';
import { rawTools } from '../testing/raw-tools.ts';
import { ScriptedRouter } from '../testing/scripted-router.ts';
import { OidcIssuer } from './issuer-config.ts';

const TASK = 't-00000000000000000000000000';

let issuer: LocalIssuer;
let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
let log = '';
beforeEach(async () => {
  issuer = await LocalIssuer.open();
  router = new ScriptedRouter();
  log = '';
  const logger = createLogger('gateway', (line) => {
    log += line;
  });
  const rights = { claim: 'roles', values: { lead: ['registry:publish'] } };
  const issuers = [OidcIssuer.parse({ issuer: issuer.url, audience: 'toolfabric', tenant: 'acme', rights })];
  open = await openGateway(connectFabric, router.ports(), { logger, issuers });
});
afterEach(async () => {
  await open.close();
  issuer.close();
});

const start = (token: string) => open.connect(token).startCall({ taskId: TASK, tool: 'a.b', args: {} });

describe('the front door with an issuer beside its own tokens', () => {
  it('lets both kinds in, each as who it is', async () => {
    await start(await issuer.sign({ sub: 'carol' }));
    await start(open.alice);
    const users = router.asked.map(({ body }) => (JSON.parse(body) as { actor: { user: string } }).actor.user);
    expect(users).toEqual(['carol', 'alice']);
  });

  it('refuses what the issuer did not sign, and says nothing of it in its log', async () => {
    const token = `${(await issuer.sign({})).slice(0, -8)}AAAAAAAA`;
    await expect(start(token)).rejects.toMatchObject({ type: 'unauthenticated' });
    expect(router.asked).toEqual([]);
    expect(log).not.toContain(token.slice(0, 40));
  });

  it('an issuer that is down is an outage for its own tokens alone', async () => {
    issuer.isDown = true;
    const raw = rawTools(open.gateway.address, await issuer.sign({}));
    const failure = await raw.fails(() => raw.call({ taskId: TASK, tool: 'a.b', waitMs: 0 }));
    raw.close();
    expect(failure).toMatchObject({ code: status.UNAVAILABLE, error: { type: 'unavailable', retryable: true } });
    await expect(start(open.alice)).resolves.toBeDefined();
  });
});
