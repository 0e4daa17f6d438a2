import { connectFabric, type FabricClient } from '@toolfabric/client';
import type { FabricError } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { ScriptedStore } from './testing/scripted-store.ts';
import { until } from './testing/until.ts';

const TASK = 't-00000000000000000000000000';
const ID = 'a-0123456789abcdefghjkmnpqrs';
const permitOf = (request: object) => ({ type: 'p', kid: 'k', sig: 's', body: JSON.stringify(request) });
let router: ScriptedRouter;
let store: ScriptedStore;
let open: OpenGateway<FabricClient>;
let client: FabricClient;

beforeEach(async () => {
  router = new ScriptedRouter();
  router.scripts['permitArtifact'] = (request: { action: string }) => ({
    permit: permitOf(request),
    ...(request.action === 'list' ? {} : { artifactId: ID }),
  });
  store = new ScriptedStore();
  open = await openGateway(connectFabric, router.ports(), { front: store });
  client = open.connect(open.alice);
});
afterEach(() => open.close());

const bytesOf = async (data: AsyncIterable<Uint8Array>) => {
  const parts: Uint8Array[] = [];
  for await (const part of data) parts.push(part);
  return Buffer.concat(parts);
};

describe('artifacts through the front door', () => {
  it('FD-6: streams the description and the bytes, whole and in a range', async () => {
    const content = Buffer.from(Array.from({ length: 700_000 }, (_, at) => at % 251));
    store.add(ID, content);
    store.pieceBytes = 300_000;
    const { artifact, data } = await client.readArtifact(ID);
    expect(artifact).toMatchObject({ id: ID, size: 700_000, trust: 'untrusted' });
    expect((await bytesOf(data)).equals(content)).toBe(true);
    const part = await client.readArtifact(ID, { from: 10, to: 20 });
    expect((await bytesOf(part.data)).equals(content.subarray(10, 20))).toBe(true);
  });

  it('RS-4: asks in the name of the caller for each request', async () => {
    store.add(ID, Buffer.from('x'));
    await client.getArtifact(ID);
    await open.connect(open.bob).pinArtifact(ID);
    await client.listArtifacts({ limit: 5 });
    expect(store.asked.map(({ verb, permit }) => [verb, JSON.parse(permit)])).toMatchObject([
      ['describe', { action: 'read', artifactId: ID, actor: { user: 'alice' } }],
      ['manage', { action: 'manage', artifactId: ID, actor: { user: 'bob' } }],
      ['list', { action: 'list', actor: { user: 'alice' } }],
    ]);
  });

  it('shares with somebody, never with nobody in particular', async () => {
    store.add(ID, Buffer.from('x'));
    await client.shareArtifact(ID, { user: 'bob' });
    expect(store.asked.at(-1)?.change).toEqual({ type: 'share', user: 'bob' });
    await expect(client.shareArtifact(ID, {})).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(client.unshareArtifact(ID, { user: '' })).rejects.toMatchObject({ type: 'invalid_request' });
    await client.deleteArtifact(ID);
    expect(store.asked.at(-1)?.change).toEqual({ type: 'delete' });
  });

  it.each(['', 'x', '../etc', `${ID}x`, 'a-0123456789abcdefghjkmnpqr/'])('refuses the id %j', async (id) => {
    await expect(client.getArtifact(id)).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(client.readArtifact(id)).rejects.toMatchObject({ type: 'invalid_request' });
    expect(store.asked).toEqual([]);
  });

  it('says what is wrong with a range, and that a store is away', async () => {
    store.add(ID, Buffer.from('x'));
    await expect(client.readArtifact(ID, { from: 5, to: 5 })).rejects.toMatchObject({ type: 'invalid_request' });
    store.away = true;
    await expect(client.getArtifact(ID, { timeoutMs: 300 })).rejects.toMatchObject({ type: 'unavailable' });
    await expect(client.readArtifact(ID)).rejects.toMatchObject({ type: 'unavailable' });
  });

  it('FD-2: says for good what is not configured where there is no store, and asks nobody', async () => {
    const bare = await openGateway(connectFabric, router.ports());
    const alice = bare.connect(bare.alice);
    const { callId } = await alice.startCall({ taskId: TASK, tool: 'a.b', args: {} });
    const log = alice.readCallLog(callId, { follow: true });
    for (const asked of [alice.getArtifact(ID), alice.listArtifacts(), alice.readArtifact(ID), log.next()]) {
      const error = await asked.then(() => undefined).catch((thrown: FabricError) => thrown.toToolError());
      expect(error).toMatchObject({ type: 'not_configured', retryable: false });
      expect(error?.hint).toContain('TOOLFABRIC_ARTIFACTS_URL');
    }
    expect(router.count('permitArtifact')).toBe(0);
    await bare.close();
  });

  it('reads no faster than its reader, and stops when the reader goes away', async () => {
    store.add(ID, Buffer.alloc(64_000_000));
    store.pieceBytes = 200_000;
    const { data } = await client.readArtifact(ID);
    await data.next();
    let before = -1;
    await until(() => {
      const still = store.pulled === before;
      before = store.pulled;
      return still;
    }, 'the stream to stand still');
    expect(store.pulled).toBeLessThan(200);
    await data.return();
    const stopped = store.pulled;
    await client.listArtifacts();
    expect(store.pulled - stopped).toBeLessThan(10);
  });

  it('stops when a reader goes away that never read any of it', async () => {
    store.add(ID, Buffer.alloc(64_000_000));
    const { data } = await client.readArtifact(ID);
    await until(() => store.reading === 1, 'the read to begin');
    await data.return();
    expect((await data.next()).done).toBe(true);
    await until(() => store.reading === 0, 'the read to end');
  });

  it('ends a stream whose token was taken back', async () => {
    store.add(ID, Buffer.alloc(64_000_000));
    const { data } = await client.readArtifact(ID);
    await data.next();
    open.entries.splice(0, 1);
    open.writeTokens();
    await expect(bytesOf(data)).rejects.toMatchObject({ type: 'unauthenticated' });
  });
});

describe('traces through the front door', () => {
  const call = {
    ...{ callId: 'c', taskId: 't', user: 'alice', agent: 'coder', tool: 'a.b', version: '1.0.0', state: 'ok' },
    ...{ sideEffect: 'none', errorType: '', rule: 'r', attempt: 1, acceptedAt: 1, settledAt: 2, durationMs: 1 },
    ...{ truncated: false, artifacts: 0, turn: 0, attributes: {} },
  };

  it('TR-1: asks for the rows of the caller alone', async () => {
    router.onTrace = () => JSON.stringify({ ok: { calls: [call], next: '2,c' } });
    const page = await client.listCalls({ tool: 'a.b', since: 5, limit: 2 });
    expect(page).toEqual({ calls: [call], next: '2,c' });
    expect(JSON.parse(router.asked.at(-1)?.body ?? '')).toEqual({
      actor: { tenant: 'acme', user: 'alice', agent: 'coder' },
      ...{ tool: 'a.b', since: 5, limit: 2 },
    });
  });

  it('PO-6, PO-10: decisions of the whole tenant are told to who has the right to replay, and nobody is asked otherwise', async () => {
    const decision = { callId: '2969-0123456789abcdefghjkmnpqrs', at: 3, text: '{}', cut: false };
    router.onTrace = () => JSON.stringify({ ok: { decisions: [decision], next: '3,e' } });
    const before = router.asked.length;
    await expect(client.listDecisions()).rejects.toMatchObject({ type: 'forbidden' });
    expect(router.asked).toHaveLength(before);
    const carol = open.issue({ id: 'carol', tenant: 'acme', user: 'carol', agent: 'ops', rights: ['policy:replay'] });
    open.writeTokens();
    const lead = open.connect(carol);
    const heard = () =>
      lead.listDecisions().then(
        () => 'told',
        (thrown: FabricError) => thrown.type,
      );
    await expect.poll(heard, { timeout: 10_000 }).toBe('told');
    const page = await lead.listDecisions({ since: 1, limit: 2 });
    expect(page).toEqual({ decisions: [decision], next: '3,e' });
    expect(JSON.parse(router.asked.at(-1)?.body ?? '')).toEqual({ tenant: 'acme', since: 1, limit: 2 });
    await expect(lead.listDecisions({ limit: 51 })).rejects.toMatchObject({ type: 'invalid_request' });
  });

  it('FD-2: says for good that there are none where none are configured, and asks nobody', async () => {
    router.onTrace = () => JSON.stringify({ ok: { calls: [call] } });
    const bare = await openGateway(connectFabric, router.ports(), { hasTraces: false });
    const alice = bare.connect(bare.alice);
    for (const asked of [alice.listCalls(), alice.getTrace('2969-0123456789abcdefghjkmnpqrs')]) {
      const error = await asked.then(() => undefined).catch((thrown: FabricError) => thrown.toToolError());
      expect(error).toMatchObject({ type: 'not_configured', retryable: false });
      expect(error?.hint).toContain('TOOLFABRIC_TRACES');
    }
    expect(router.asked.filter(({ verb }) => verb === 'listCalls' || verb === 'getTrace')).toEqual([]);
    await bare.close();
  });

  it('says that traces are away, whatever the reason, and calls go on', async () => {
    const callId = '2969-0123456789abcdefghjkmnpqrs';
    const asks = () => client.getTrace(callId, { timeoutMs: 300 });
    await expect(asks()).rejects.toMatchObject({ type: 'traces_unavailable' });
    router.onTrace = () => 'no json';
    await expect(asks()).rejects.toMatchObject({ type: 'traces_unavailable' });
    router.onTrace = () => JSON.stringify({ ok: { calls: 1 } });
    await expect(asks()).rejects.toMatchObject({ type: 'traces_unavailable' });
    expect((await client.startCall({ taskId: TASK, tool: 'a.b', args: {} })).state).toBe('queued');
    await expect(client.getTrace('x')).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(client.listCalls({ limit: 101 })).rejects.toMatchObject({ type: 'invalid_request' });
  });
});
