import { status } from '@grpc/grpc-js';
import { type CallNews, connectFabric, type FabricClient } from '@toolfabric/client';
import type { WatchCallResponse } from '@toolfabric/proto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenGateway, type OpenOptions, openGateway } from './testing/open-gateway.ts';
import { rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { until } from './testing/until.ts';
import { WatchFeed } from './watch-feed.ts';

const TASK = 't-00000000000000000000000000';
let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
let client: FabricClient;
let callId: string;
const reopen = async (options: OpenOptions = {}) => {
  await open?.close();
  router = new ScriptedRouter();
  open = await openGateway(connectFabric, router.ports(), options);
  client = open.connect(open.alice);
  callId = (await client.startCall({ taskId: TASK, tool: 'a.b', args: {} })).callId;
};
beforeEach(() => reopen({ pollMs: 20 }));
afterEach(() => open.close());

/** Collects the news of a watch until it ends. */
const collect = (news: AsyncIterable<CallNews>) => {
  const heard: string[] = [];
  const end = (async () => {
    for await (const one of news) heard.push(one.type === 'call' ? one.call.state : one.progress.message);
  })();
  return { heard, end };
};

describe('WatchCall', () => {
  it('FD-6: tells states and progress in order, each state once, and ends with the answer', async () => {
    const { heard, end } = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    router.progress({ callId, seq: 1, message: 'half', fraction: 0.5 });
    await until(() => heard.includes('half'), 'progress');
    router.move(callId, 'running');
    await until(() => heard.includes('running'), 'running');
    const settled = router.settle(callId);
    await end;
    expect(heard).toEqual(['queued', 'half', 'running', 'ok']);
    expect(settled.state).toBe('ok');
    await until(() => router.watchers === 0, 'the end of the watch');
  });

  it('tells the answer of a call that has ended, at once', async () => {
    router.settle(callId, 'unknown');
    const { heard, end } = collect(client.watchCall(callId));
    await end;
    expect(heard).toEqual(['unknown']);
  });

  it('RE-2: tells an unknown outcome, and the final one once it was found out', async () => {
    const { heard, end } = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    router.loseReceipt(callId);
    await until(() => heard.includes('unknown'), 'unknown');
    router.settle(callId);
    await end;
    expect(heard).toEqual(['queued', 'unknown', 'ok']);
  });

  it('tells the end by notice alone, and by asking alone', async () => {
    for (const [pollMs, silently] of [
      [60_000, false],
      [20, true],
    ] as const) {
      await reopen({ pollMs });
      const { heard, end } = collect(client.watchCall(callId));
      await until(() => router.watchers === 1, 'the watch');
      router.settle(callId, 'ok', silently);
      await end;
      expect(heard).toEqual(['queued', 'ok']);
    }
  });

  it('RS-4: another actor is told that there is no such call, and hears nothing of it', async () => {
    await expect(open.connect(open.bob).watchCall(callId).next()).rejects.toMatchObject({ type: 'not_found' });
    expect(router.watchers).toBe(0);
  });

  it('RS-4: a notice for another actor and progress of another call are not told', async () => {
    const { heard, end } = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    const known = router.calls.get(callId);
    if (known === undefined) throw new Error('no call');
    router.notify({ actor: { ...known.actor, agent: 'other' }, view: { ...known.view, state: 'denied' } });
    router.progress({ callId: '2969-00000000000000000000000000', seq: 1, message: 'not yours' });
    router.settle(callId);
    await end;
    expect(heard).toEqual(['queued', 'ok']);
  });

  it('serves two watchers of one call', async () => {
    const watches = [collect(client.watchCall(callId)), collect(open.connect(open.alice).watchCall(callId))];
    await until(() => router.watchers === 2, 'both watches');
    router.settle(callId);
    await Promise.all(watches.map(({ end }) => end));
    expect(watches.map(({ heard }) => heard)).toEqual([
      ['queued', 'ok'],
      ['queued', 'ok'],
    ]);
  });

  it('keeps nothing of a watcher that went away, and leaves the call alone', async () => {
    const gone = new AbortController();
    const { end } = collect(client.watchCall(callId, { signal: gone.signal }));
    await until(() => router.watchers === 1, 'the watch');
    gone.abort(new Error('enough'));
    await expect(end).rejects.toThrow('enough');
    await until(() => router.watchers === 0, 'the end of the watch');
    const asked = router.count('getCall');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(router.count('getCall')).toBeLessThanOrEqual(asked + 1);
    expect(router.calls.get(callId)?.view.state).toBe('queued');
  });

  it('ends the stream when its reader stops early', async () => {
    for await (const news of client.watchCall(callId)) {
      expect(news.type).toBe('call');
      break;
    }
    await until(() => router.watchers === 0, 'the end of the watch');
  });

  it('ends with the deadline of the caller', async () => {
    const { end } = collect(client.watchCall(callId, { timeoutMs: 150 }));
    await expect(end).rejects.toMatchObject({ type: 'unavailable' });
    await until(() => router.watchers === 0, 'the end of the watch');
  });

  it('goes on while no router answers', async () => {
    const { heard, end } = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    router.away = 4;
    await until(() => router.away === 0, 'four lost polls');
    router.settle(callId, 'ok', true);
    await end;
    expect(heard).toEqual(['queued', 'ok']);
  });

  it('ends when its token is taken back', async () => {
    const { end } = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    open.entries.splice(0, 1);
    open.writeTokens();
    await expect(end).rejects.toMatchObject({ type: 'unauthenticated' });
    expect(router.watchers).toBe(0);
  });

  it('is overloaded and retryable when too many are watched', async () => {
    await reopen({ limits: { pendingCalls: 1 } });
    const first = collect(client.watchCall(callId));
    await until(() => router.watchers === 1, 'the watch');
    await expect(open.connect(open.alice).watchCall(callId).next()).rejects.toMatchObject({ type: 'overloaded' });
    router.settle(callId);
    await first.end;
  });

  it('sends no faster than its watcher reads: what comes in between is dropped, not kept', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    const news = raw.client.watchCall({ callId }, raw.metadata)[Symbol.asyncIterator]();
    // Only a stream that was read from once is held back by its reader.
    await news.next();
    await until(() => router.watchers === 1, 'the watch');
    for (let seq = 1; seq <= 3_000; seq += 1) {
      router.progress({ callId, seq, message: 'x'.repeat(1_000) });
      if (seq % 10 === 0) await new Promise(setImmediate);
    }
    router.settle(callId);
    let lines = 0;
    for (let next = await news.next(); !next.done; next = await news.next()) lines += 1;
    expect(lines).toBeLessThan(1_500);
    raw.close();
  });

  it('survives a burst: the watcher gets the end, and the lines that still fit', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    const stream = raw.client.watchCall({ callId }, raw.metadata);
    await until(() => router.watchers === 1, 'the watch');
    const line = 'x'.repeat(1_000);
    for (let seq = 1; seq <= 5_000; seq += 1) router.progress({ callId, seq, message: line });
    router.settle(callId);
    const heard: WatchCallResponse[] = [];
    for await (const news of stream) heard.push(news);
    const seqs = heard.flatMap(({ news }) => (news?.$case === 'progress' ? [news.value.seq] : []));
    expect(heard.at(-1)?.news?.$case).toBe('call');
    expect(seqs.length).toBeLessThan(1_000);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(seqs.at(-1)).toBe(5_000);
    raw.close();
  });

  it('tells watchers to go elsewhere when the gateway stops', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    const stream = raw.client.watchCall({ callId }, raw.metadata);
    const failed = raw.fails(async () => {
      for await (const _ of stream);
    });
    await until(() => router.watchers === 1, 'the watch');
    await open.gateway.stop();
    expect(await failed).toMatchObject({ code: status.UNAVAILABLE, error: { type: 'unavailable', retryable: true } });
    raw.close();
  });
});

describe('the feed of a watcher', () => {
  it('holds one view and a bounded number of lines', () => {
    const feed = new WatchFeed();
    for (let seq = 0; seq < 1_000; seq += 1) {
      feed.progress({ seq, message: 'm' });
      feed.view({ callId: 'c', state: 'running', taskId: 't', tool: { name: 'a.b', version: '' }, createdAt: seq });
    }
    expect(feed.waiting).toBe(65);
  });
});
