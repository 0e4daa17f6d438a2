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
/** That of the present attempt of a call. */
let present: { artifactId: string; attempt?: number };
let client: FabricClient;

beforeEach(async () => {
  router = new ScriptedRouter();
  present = { artifactId: ID, attempt: 1 };
  router.scripts['permitArtifact'] = (request: { callId: string }) => {
    if (!router.calls.has(request.callId)) throw new FabricError('not_found', 'no');
    return { permit: permitOf(request), ...present };
  };
  store = new ScriptedStore();
  open = await openGateway(connectFabric, router.ports(), { front: store });
  client = open.connect(open.alice);
});
afterEach(() => open.close());

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
    present = { artifactId: NEXT_ID, attempt: 2 };
    store.add(NEXT_ID, Buffer.from('second'), { state: 'live' });
    router.move(callId, 'queued');
    await until(() => log.text() === 'first attemptsecond', 'the second log');
    router.settle(callId);
    await log.end;
    expect(log.heard.at(-1)).toMatchObject({ cursor: 6, attempt: 2, restarts: 1, complete: true });
    expect(log.heard[0]).toMatchObject({ attempt: 1, restarts: 0 });
  });

  it('RE-5: whoever comes back with the cursor of an earlier attempt is told the later log whole, and is told so', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('first attempt'), { state: 'live' });
    const before = collect(client.readCallLog(callId));
    await before.end;
    const { cursor, attempt = 0 } = before.heard.at(-1) ?? { cursor: -1 };
    expect({ cursor, attempt }).toEqual({ cursor: 13, attempt: 1 });
    present = { artifactId: NEXT_ID, attempt: 3 };
    store.add(NEXT_ID, Buffer.from('a second log, longer than the first'), { state: 'live' });
    const after = collect(client.readCallLog(callId, { cursor, attempt }));
    await after.end;
    expect(after.text()).toBe('a second log, longer than the first');
    expect(after.heard.at(-1)).toMatchObject({ cursor: 35, attempt: 3, restarts: 1 });
    const same = collect(client.readCallLog(callId, { cursor: 30, attempt: 3 }));
    await same.end;
    expect([same.text(), same.heard.at(-1)?.restarts]).toEqual(['first', 0]);
  });

  it('a cursor that names no attempt is taken while there was only one, and refused afterwards', async () => {
    const callId = await start();
    store.add(ID, Buffer.from('0123'), { state: 'live' });
    const first = collect(client.readCallLog(callId, { cursor: 2 }));
    await first.end;
    expect(first.text()).toBe('23');
    present = { artifactId: ID, attempt: 2 };
    const refused = collect(client.readCallLog(callId, { cursor: 2 }));
    await expect(refused.end).rejects.toMatchObject({
      type: 'invalid_request',
      details: { fields: [{ field: '/attempt' }] },
    });
    const whole = collect(client.readCallLog(callId));
    await whole.end;
    expect([whole.text(), whole.heard.at(-1)?.restarts]).toEqual(['0123', 0]);
    const none = collect(client.readCallLog(callId, { attempt: 0 }));
    await expect(none.end).rejects.toMatchObject({ type: 'invalid_request' });
  });

  it('reads on beside a router that does not tell the attempt', async () => {
    present = { artifactId: ID };
    const callId = await start();
    store.add(ID, Buffer.from('0123'), { state: 'live' });
    const log = collect(client.readCallLog(callId, { cursor: 2 }));
    await log.end;
    expect([log.text(), log.heard.at(-1)?.attempt]).toEqual(['23', undefined]);
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
