import { EventEmitter } from 'node:events';
import { Metadata, status } from '@grpc/grpc-js';
import type { Clock } from '@toolfabric/kernel';
import { type ArtifactServiceClient, type ToolServiceClient, wireCall } from '@toolfabric/proto';
import { describe, expect, it } from 'vitest';
import { readCallLog } from './read-call-log.ts';
import type { Requester } from './requester.ts';
import { bare, viewOf } from './testing/scripted-gateway.ts';
import { watchCall } from './watch-call.ts';

/** One connection: whether it is answered, how long it is quiet, what comes, and what breaks it. */
interface Connection {
  readonly opens?: boolean;
  readonly quietMs?: number;
  readonly messages?: readonly unknown[];
  readonly breaks?: boolean;
}

const MINUTE = 60_000;

/** A clock that goes only when it is waited on, and a gateway behind whose connections follow the script. */
const script = (connections: readonly Connection[]) => {
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
  const asked: { request: unknown; at: number }[] = [];
  const connect = (request: unknown) => {
    const { opens = false, quietMs = 0, messages = [], breaks = true } = connections[asked.length] ?? {};
    asked.push({ request, at: now });
    const stream = new EventEmitter();
    const pieces = (async function* () {
      await new Promise(setImmediate);
      if (opens) stream.emit('metadata', new Metadata());
      now += quietMs;
      yield* messages;
      if (breaks) throw bare(status.UNAVAILABLE);
    })();
    return Object.assign(stream, { cancel: () => {}, [Symbol.asyncIterator]: () => pieces });
  };
  return { clock, asked, connect };
};

const piece = (text: string, cursor: number, complete = false, attempt = 1, restarts = 0) => ({
  data: Buffer.from(text),
  ...{ cursor, dropped: 0, complete, attempt, restarts },
});

const read = async (connections: readonly Connection[], maxBytes?: number) => {
  const { clock, asked, connect } = script(connections);
  const requester = { clock, metadata: new Metadata() } as unknown as Requester;
  const client = { readCallLog: connect } as unknown as ArtifactServiceClient;
  let text = '';
  const restarts: number[] = [];
  const options = { follow: true, ...(maxBytes === undefined ? {} : { maxBytes }) };
  for await (const heard of readCallLog(client, requester, 'c', options)) {
    text += Buffer.from(heard.data).toString();
    restarts.push(heard.restarts);
  }
  return { text, asked, restarts };
};

describe('a stream that is quiet for long', () => {
  it('RE-5: the log of a call goes on after its gateway went away, however long it was quiet before', async () => {
    const { text, asked } = await read([
      { messages: [piece('one', 3)] },
      { opens: true, quietMs: 90 * MINUTE },
      { opens: true, quietMs: 90 * MINUTE },
      { messages: [piece('two', 6, true)], breaks: false },
    ]);
    expect(text).toBe('onetwo');
    expect(asked.map(({ request }) => request)).toMatchObject([
      { cursor: 0 },
      { cursor: 3 },
      { cursor: 3 },
      { cursor: 3 },
    ]);
  });

  it('a gateway that never answers is given up after a minute', async () => {
    const { clock, asked, connect } = script([{ opens: true, quietMs: 90 * MINUTE }]);
    const requester = { clock, metadata: new Metadata() } as unknown as Requester;
    const pieces = readCallLog({ readCallLog: connect } as unknown as ArtifactServiceClient, requester, 'c', {});
    await expect(pieces.next()).rejects.toMatchObject({ type: 'unavailable' });
    expect(clock.monotonic()).toBeLessThanOrEqual(91 * MINUTE);
    expect(asked.length).toBeGreaterThan(10);
  });

  it('what was asked for is not asked for again when the connection breaks behind it', async () => {
    const { text, asked } = await read([{ messages: [piece('four', 4)] }], 4);
    expect([text, asked.length]).toEqual(['four', 1]);
  });

  it('RE-5: a cursor goes back with its attempt, and logs that began anew are counted over the connections', async () => {
    const { text, asked, restarts } = await read([
      { messages: [piece('one', 3)] },
      { messages: [piece('two', 3, false, 2, 1), piece('three', 5, false, 3, 2)] },
      { messages: [piece('four', 4, true, 4, 1)], breaks: false },
    ]);
    expect([text, restarts]).toEqual(['onetwothreefour', [0, 1, 2, 3]]);
    expect(asked.map(({ request }) => request)).toMatchObject([
      { cursor: 0, attempt: undefined },
      { cursor: 3, attempt: 1 },
      { cursor: 5, attempt: 3 },
    ]);
  });

  it('the bytes that are left are counted, also over the logs of two attempts', async () => {
    const { text, asked } = await read([{ messages: [piece('first', 5), piece('se', 2)] }, { breaks: false }], 10);
    expect(text).toBe('firstse');
    expect(asked[1]?.request).toMatchObject({ cursor: 2, maxBytes: 3 });
  });

  it('a watch goes on after its gateway went away, however long it had no news', async () => {
    const { QUEUED, OK } = wireCall.CallState;
    const news = (state: number) => ({ news: { $case: 'call', value: viewOf(state) } });
    const { clock, asked, connect } = script([
      { messages: [news(QUEUED)] },
      { messages: [news(QUEUED)], breaks: false },
      { messages: [news(OK)], breaks: false },
    ]);
    const told: string[] = [];
    const client = { watchCall: connect } as unknown as ToolServiceClient;
    for await (const one of watchCall(client, new Metadata(), 'c', {}, clock)) {
      if (one.type === 'call') told.push(one.call.state);
      await clock.sleep(90 * MINUTE);
    }
    expect([told, asked.length]).toEqual([['queued', 'ok'], 3]);
  });
});
