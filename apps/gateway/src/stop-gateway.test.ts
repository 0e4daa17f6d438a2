import { connectFabric, type FabricClient } from '@toolfabric/client';
import { ANSWERED } from '@toolfabric/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { until } from './testing/until.ts';

const CALL = { taskId: 't-00000000000000000000000000', tool: 'a.b' };
let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
beforeEach(async () => {
  router = new ScriptedRouter();
  open = await openGateway(connectFabric, router.ports());
});
afterEach(() => open.close());

describe('a gateway that stops', () => {
  it('OP-3: answers waiting callers with their handle and then is gone', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    const waiting = raw.call({ ...CALL, waitMs: 60_000 });
    await until(() => router.calls.size === 1, 'a call');
    await open.gateway.stop();
    expect((await waiting).call).toMatchObject({ callId: [...router.calls.keys()][0], state: 3 });
    expect(await raw.fails(() => raw.call({ ...CALL, waitMs: 0 }))).toMatchObject({ code: 14 });
    raw.close();
  });

  it('RE-3: a caller finds its call again through the next gateway, with the same key', async () => {
    const answer = open.connect(open.alice).call({ ...CALL, args: {} });
    await until(() => router.calls.size === 1, 'a call');
    const port = Number(open.gateway.address.split(':').at(-1));
    await open.gateway.stop();
    const next = await openGateway(connectFabric, router.ports(), { tokens: open.entries, listen: { port } });
    await until(() => router.count('call') >= 2, 'the same call again');
    const settled = router.settle([...router.calls.keys()][0] ?? '');
    expect(await answer).toStrictEqual(settled);
    expect(ANSWERED.has(settled.state)).toBe(true);
    expect(router.calls.size).toBe(1);
    await next.close();
  });

  it('a watch goes on through the next gateway and tells no state twice', async () => {
    const client = open.connect(open.alice);
    const { callId } = await client.startCall({ ...CALL, args: {} });
    const heard: string[] = [];
    const watch = (async () => {
      for await (const news of client.watchCall(callId)) heard.push(news.type === 'call' ? news.call.state : 'line');
    })();
    await until(() => router.watchers === 1, 'the watch');
    const port = Number(open.gateway.address.split(':').at(-1));
    await open.gateway.stop();
    const next = await openGateway(connectFabric, router.ports(), { tokens: open.entries, listen: { port } });
    await until(() => router.watchers === 1, 'the watch again');
    router.settle(callId);
    await watch;
    expect(heard).toEqual(['queued', 'ok']);
    await next.close();
  });

  it('breaks off what does not end within the drain time', async () => {
    let asked = false;
    const request = () => {
      asked = true;
      return new Promise<string>(() => {});
    };
    const stuck = await openGateway(connectFabric, { ...router.ports(), request });
    const raw = rawTools(stuck.gateway.address, stuck.alice);
    const failed = raw.fails(() => raw.call({ ...CALL, waitMs: 60_000 }));
    await until(() => asked, 'the request');
    await stuck.gateway.stop();
    expect([1, 14]).toContain((await failed).code);
    raw.close();
    await stuck.close();
  });

  it('can be told twice', async () => {
    await Promise.all([open.gateway.stop(), open.gateway.stop()]);
    expect(open.gateway.isReady()).toBe(false);
  });
});
