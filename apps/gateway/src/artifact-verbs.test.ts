import { connectFabric, type FabricClient, type LogPiece } from '@toolfabric/client';
import { FabricError } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wholeCharacters } from './read-call-log.ts';
import { type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { ScriptedStore } from './testing/scripted-store.ts';
import { until } from './testing/until.ts';

const TASK = 't-00000000000000000000000000';
const ID = 'a-0123456789abcdefghjkmnpqrs';
const NEXT_ID = 'a-1123456789abcdefghjkmnpqrs';
const permitOf = (request: object) => ({ type: 'p', kid: 'k', sig: 's', body: JSON.stringify(request) });
let router: ScriptedRouter;
let store: ScriptedStore;
let open: OpenGateway<FabricClient>;
/** The log of the present attempt of a call. */
let logId: string;
let client: FabricClient;

beforeEach(async () => {
  router = new ScriptedRouter();
  logId = ID;
  router.scripts['permitArtifact'] = (request: { action: string; callId?: string }) => {
    if (request.callId !== undefined && !router.calls.has(request.callId)) throw new FabricError('not_found', 'no');
    return { permit: permitOf(request), ...(request.action === 'list' ? {} : { artifactId: logId }) };
  };
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

  it('is unavailable where there is no store', async () => {
    const bare = await openGateway(connectFabric, router.ports());
    const reading = bare.connect(bare.alice).getArtifact(ID, { timeoutMs: 300 });
    await expect(reading).rejects.toMatchObject({ type: 'unavailable' });
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

describe('the log of a call', () => {
  const start = async () => (await client.startCall({ taskId: TASK, tool: 'a.b', args: {} })).callId;
  const collect = (pieces: AsyncIterable<LogPiece>) => {
    const heard: LogPiece[] = [];
    const end = (async () => {
      for await (const piece of pieces) heard.push(piece);
    })();
    return { heard, end, text: () => Buffer.concat(heard.map(({ data }) => data)).toString('utf8') };
  };

  it('RE-5: goes on from its cursor while the call runs, and ends with it', async () => {
    const callId = await start();
    const log = collect(client.readCallLog(callId, { follow: true }));
    store.add(ID, Buffer.from('one\n'), { state: 'live' });
    await until(() => log.text() === 'one\n', 'the first line');
    store.add(ID, Buffer.from('one\ntwo\n'), { state: 'live' });
    await until(() => log.text() === 'one\ntwo\n', 'the second line');
    store.add(ID, Buffer.from('one\ntwo\nend'), { state: 'complete', dropped: 7, gapAt: 8 });
    router.settle(callId);
    await log.end;
    expect(log.text()).toBe('one\ntwo\nend');
    expect(log.heard.at(-1)).toMatchObject({ complete: true, cursor: 11, dropped: 7, gapAt: 8 });
  });

  it('cuts no character in two while more may come, and gives what is there at the end', async () => {
    const callId = await start();
    const text = Buffer.from('aé');
    store.add(ID, text.subarray(0, 2), { state: 'live' });
    const first = collect(client.readCallLog(callId));
    await first.end;
    expect(first.heard.at(-1)).toMatchObject({ cursor: 1, complete: false });
    store.add(ID, text.subarray(0, 2), { state: 'complete' });
    router.settle(callId);
    const second = collect(client.readCallLog(callId, { cursor: 1 }));
    await second.end;
    expect(Buffer.concat(second.heard.map(({ data }) => data))).toEqual(text.subarray(1, 2));
    expect(second.heard.at(-1)).toMatchObject({ cursor: 2, complete: true });
  });

  it('gives at most what was asked for, and goes on there', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('0123456789'));
    const first = collect(client.readCallLog(callId, { maxBytes: 4, follow: true }));
    await first.end;
    expect([first.text(), first.heard.at(-1)?.cursor, first.heard.at(-1)?.complete]).toEqual(['0123', 4, false]);
    const rest = collect(client.readCallLog(callId, { cursor: 4 }));
    await rest.end;
    expect(rest.text()).toBe('456789');
  });

  it.each([
    [4, 'aé'],
    [1, 'a'],
    [2, 'a'],
  ])('ends at the last whole character of %i bytes, also while it follows', async (maxBytes, expected) => {
    const callId = await start();
    store.add(ID, Buffer.from('aéé'), { state: 'live' });
    const log = collect(client.readCallLog(callId, { maxBytes, follow: true }));
    await log.end;
    expect([log.text(), log.heard.at(-1)?.complete]).toEqual([expected, false]);
  });

  it('gets on even when less than a character is asked for', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('é'));
    const first = collect(client.readCallLog(callId, { maxBytes: 1, follow: true }));
    await first.end;
    const second = collect(client.readCallLog(callId, { maxBytes: 1, follow: true, cursor: 1 }));
    await second.end;
    expect(Buffer.concat([...first.heard, ...second.heard].map(({ data }) => data)).length).toBe(2);
    expect(second.heard.at(-1)).toMatchObject({ cursor: 2, complete: true });
  });

  it('RE-5: goes on with the log of the next attempt, from its beginning, after the first was lost', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('first attempt'), { state: 'live' });
    const log = collect(client.readCallLog(callId, { follow: true }));
    await until(() => log.text() === 'first attempt', 'the first log');
    router.loseReceipt(callId);
    const before = router.count('getCall');
    await until(() => router.count('getCall') > before + 1, 'another look at the call');
    logId = NEXT_ID;
    store.add(NEXT_ID, Buffer.from('second'), { state: 'live' });
    router.move(callId, 'queued');
    await until(() => log.text() === 'first attemptsecond', 'the second log');
    router.settle(callId);
    await log.end;
    expect(log.heard.at(-1)).toMatchObject({ cursor: 6, complete: true });
  });

  it('RE-5: what was written last is told, also when the call ends at that very moment', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('begin '), { state: 'live' });
    let looks = 0;
    router.scripts['getCall'] = (request: { callId: string }) => {
      looks += 1;
      if (looks === 2) {
        store.add(ID, Buffer.from('begin end'), { state: 'complete' });
        router.settle(callId, 'ok', true);
      }
      return router.calls.get(request.callId)?.view;
    };
    const log = collect(client.readCallLog(callId, { follow: true }));
    await log.end;
    expect([log.text(), log.heard.at(-1)?.complete]).toEqual(['begin end', true]);
  });

  it('tells nothing more to a token that was taken back', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('before'), { state: 'live' });
    const log = collect(client.readCallLog(callId, { follow: true }));
    await until(() => log.text() === 'before', 'the first bytes');
    open.entries.splice(0, 1);
    open.writeTokens();
    const isRefused = () => client.getArtifact(ID).catch(({ type }) => type === 'unauthenticated');
    for (let tries = 0; tries < 200 && (await isRefused()) !== true; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    store.add(ID, Buffer.from('before and after'), { state: 'live' });
    await expect(log.end).rejects.toMatchObject({ type: 'unauthenticated' });
    expect(log.text()).toBe('before');
  });

  it('RS-4: there is none for the call of somebody else, and an empty one for a call that wrote nothing', async () => {
    const callId = await start();
    const other = collect(open.connect(open.bob).readCallLog(callId));
    await expect(other.end).rejects.toMatchObject({ type: 'not_found' });
    router.settle(callId);
    const own = collect(client.readCallLog(callId, { follow: true }));
    await own.end;
    expect(own.heard).toMatchObject([{ cursor: 0, complete: true }]);
  });

  it('finds the border of the last character', () => {
    const text = Buffer.from('xé漢😀');
    const borders = [0, 1, 3, 6, 10];
    for (let end = 0; end <= text.length; end += 1) {
      expect(wholeCharacters(text.subarray(0, end))).toBe(Math.max(...borders.filter((border) => border <= end)));
    }
    expect(wholeCharacters(Buffer.from([0xff, 0x80, 0x80, 0x80]))).toBe(4);
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
