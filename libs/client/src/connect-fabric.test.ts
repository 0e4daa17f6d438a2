import { status } from '@grpc/grpc-js';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { wireCall } from '@toolfabric/proto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FabricClient } from './client-types.ts';
import { connectFabric } from './connect-fabric.ts';
import { bare, failure, ScriptedGateway, unavailable, viewOf } from './testing/scripted-gateway.ts';

const { OK, QUEUED, AWAITING_APPROVAL } = wireCall.CallState;
const PROPOSAL = { taskId: 't1', tool: 'a.b', args: { z: 1, a: 2 } };
const TOKEN = 'tf_test';

let gateway: ScriptedGateway;
let client: FabricClient;
beforeEach(async () => {
  gateway = new ScriptedGateway();
  await gateway.listen();
  client = connectFabric({ address: gateway.address, token: TOKEN });
});
afterEach(() => {
  client.close();
  gateway.kill();
});

/** Throws each of these once, then answers. */
const first = (errors: Error[], answer: unknown) => () => {
  const error = errors.shift();
  if (error) throw error;
  return answer;
};

describe('a request', () => {
  it('FD-8: carries the token, the proposal and the key of its caller', async () => {
    gateway.scripts['startCall'] = () => ({ call: viewOf(QUEUED) });
    const requestKey = uuidv7();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await client.startCall({ ...PROPOSAL, requestKey, traceparent, turn: 2, priority: 'lo' });
    const [asked] = gateway.asked;
    expect(asked?.metadata.get('authorization')).toEqual([`Bearer ${TOKEN}`]);
    expect(asked?.metadata.get('traceparent')).toEqual([traceparent]);
    expect(asked?.request.proposal).toMatchObject({ requestKey, tool: 'a.b', turn: 2, priority: 2 });
    expect(asked?.request.proposal?.argumentsJson).toBe('{"z":1,"a":2}');
  });

  it('sends arguments that are text as they are', async () => {
    gateway.scripts['startCall'] = () => ({ call: viewOf(QUEUED) });
    const args = '{"n": 12345678901234567890, "half';
    await client.startCall({ ...PROPOSAL, args });
    expect(gateway.asked[0]?.request.proposal?.argumentsJson).toBe(args);
  });

  it('makes a UUIDv7 of its own for each action', async () => {
    gateway.scripts['startCall'] = () => ({ call: viewOf(QUEUED) });
    await client.startCall(PROPOSAL);
    await client.startCall(PROPOSAL);
    const keys = [...gateway.keys()];
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it('gives its timeout to the gateway as the deadline', async () => {
    gateway.scripts['getCall'] = () => ({ call: viewOf(OK) });
    await client.getCall('c1', { timeoutMs: 5_000 });
    expect(gateway.asked[0]?.leftMs).toBeGreaterThan(3_000);
    expect(gateway.asked[0]?.leftMs).toBeLessThanOrEqual(5_000);
  });
});

describe('a gateway that is unavailable', () => {
  it('RE-3: is asked again with the same key, for every way in which it may be away', async () => {
    const errors = [
      unavailable(),
      bare(status.UNAVAILABLE),
      bare(status.CANCELLED),
      bare(status.INTERNAL, 'Received RST_STREAM with code 2'),
    ];
    gateway.scripts['call'] = first(errors, { call: viewOf(OK) });
    expect((await client.call(PROPOSAL)).state).toBe('ok');
    expect(gateway.asked).toHaveLength(5);
    expect(gateway.keys().size).toBe(1);
  });

  it('RE-3: is found again after a kill, with the same key', async () => {
    gateway.scripts['call'] = () => new Promise(() => {});
    const answer = client.call(PROPOSAL);
    await expect.poll(() => gateway.asked.length).toBe(1);
    const port = Number(gateway.address.split(':')[1]);
    gateway.kill();
    gateway.scripts['call'] = () => ({ call: viewOf(OK) });
    await gateway.listen(port);
    expect((await answer).state).toBe('ok');
    expect(gateway.keys().size).toBe(1);
    expect(gateway.asked.length).toBeGreaterThanOrEqual(2);
  });

  it('is given up at the timeout', async () => {
    gateway.scripts['getCall'] = () => unavailable();
    const error = await client.getCall('c1', { timeoutMs: 300 }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(FabricError);
    expect(error.type).toBe('unavailable');
    expect(gateway.asked.length).toBeGreaterThan(1);
  });

  it('is given up at the timeout when nobody listens, and when nobody answers', async () => {
    gateway.scripts['getCall'] = () => new Promise(() => {});
    await expect(client.getCall('c1', { timeoutMs: 200 })).rejects.toMatchObject({ type: 'unavailable' });
    gateway.kill();
    await expect(client.getCall('c1', { timeoutMs: 200 })).rejects.toMatchObject({ type: 'unavailable' });
  });

  it('waits as long as it is told to', async () => {
    const told = failure('unavailable', status.UNAVAILABLE, true, 60_000);
    gateway.scripts['getCall'] = first([told], { call: viewOf(OK) });
    await expect(client.getCall('c1', { timeoutMs: 250 })).rejects.toMatchObject({ type: 'unavailable' });
    expect(gateway.asked).toHaveLength(1);
  });
});

describe('any other failure', () => {
  it.each([
    [failure('overloaded', status.RESOURCE_EXHAUSTED, true, 50), 'overloaded'],
    [failure('not_found', status.NOT_FOUND), 'not_found'],
    [failure('internal', status.INTERNAL), 'internal'],
    [failure('from_the_future', status.FAILED_PRECONDITION), 'internal'],
    [bare(status.UNAUTHENTICATED), 'unauthenticated'],
    [bare(status.PERMISSION_DENIED), 'forbidden'],
    [bare(status.RESOURCE_EXHAUSTED), 'too_large'],
    [bare(status.UNIMPLEMENTED), 'invalid_request'],
    [bare(status.INTERNAL), 'internal'],
    [bare(status.UNKNOWN), 'internal'],
    [bare(status.DATA_LOSS), 'internal'],
  ])('is told once and not tried again: %s is %s', async (error, type) => {
    gateway.scripts['getCall'] = () => error;
    await expect(client.getCall('c1')).rejects.toMatchObject({ name: 'FabricError', type });
    expect(gateway.asked).toHaveLength(1);
  });

  it('keeps the advice of the gateway', async () => {
    gateway.scripts['getCall'] = () => failure('overloaded', status.RESOURCE_EXHAUSTED, true, 50);
    await expect(client.getCall('c1')).rejects.toMatchObject({ details: { retryAfterMs: 50 } });
  });

  it.each([
    ['a state that is not known here', { call: viewOf(99) }],
    ['no state', { call: viewOf(0) }],
    ['nothing', { call: undefined }],
  ])('an answer with %s is internal', async (_what, answer) => {
    gateway.scripts['getCall'] = () => answer;
    await expect(client.getCall('c1')).rejects.toMatchObject({ type: 'internal' });
    expect(gateway.asked).toHaveLength(1);
  });

  it('a closed client fails at once', async () => {
    client.close();
    await expect(client.getCall('c1')).rejects.toMatchObject({ name: 'FabricError' });
    await expect(client.watchCall('c1').next()).rejects.toMatchObject({ name: 'FabricError' });
  });
});

describe('the signal of the caller', () => {
  const reason = new Error('not wanted');

  it('ends a request before it is sent', async () => {
    await expect(client.getCall('c1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(gateway.asked).toEqual([]);
  });

  it('ends a request that waits for its answer, and one between two attempts', async () => {
    for (const script of [
      () => new Promise(() => {}),
      () => failure('unavailable', status.UNAVAILABLE, true, 60_000),
    ]) {
      gateway.asked.length = 0;
      gateway.scripts['getCall'] = script;
      const stop = new AbortController();
      const answer = client.getCall('c1', { signal: stop.signal, timeoutMs: 60_000 });
      answer.catch(() => {});
      await expect.poll(() => gateway.asked.length).toBe(1);
      stop.abort(reason);
      await expect(answer).rejects.toBe(reason);
    }
  });
});

describe('call', () => {
  it('asks again, with the same key and less to wait, until the call is answered', async () => {
    let count = 0;
    gateway.scripts['call'] = () => {
      count += 1;
      return { call: viewOf(count < 3 ? QUEUED : OK) };
    };
    expect((await client.call(PROPOSAL, { waitMs: 10_000 })).state).toBe('ok');
    const waits = gateway.asked.map(({ request }) => request.waitMs ?? 0);
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBe(10_000);
    expect(waits[2]).toBeLessThan(waits[0] ?? 0);
    expect(gateway.keys().size).toBe(1);
  });

  it('gives the handle at the end of the wait, and at once for waitMs 0', async () => {
    gateway.scripts['call'] = () => ({ call: viewOf(QUEUED) });
    expect((await client.call(PROPOSAL, { waitMs: 0 })).state).toBe('queued');
    expect(gateway.asked).toHaveLength(1);
    expect((await client.call(PROPOSAL, { waitMs: 200 })).state).toBe('queued');
  });

  it('L5: does not wait for a person', async () => {
    gateway.scripts['call'] = () => ({ call: viewOf(AWAITING_APPROVAL) });
    expect((await client.call(PROPOSAL)).state).toBe('awaiting_approval');
    expect(gateway.asked).toHaveLength(1);
  });

  it('does not lose its handle to a gateway that goes away', async () => {
    gateway.scripts['call'] = ({ request }) => (request.waitMs === 1_000 ? { call: viewOf(QUEUED) } : unavailable());
    const view = await client.call(PROPOSAL, { waitMs: 1_000, timeoutMs: 1_200 });
    expect(view).toMatchObject({ state: 'queued', callId: 'c1' });
  });
});

describe('watchCall', () => {
  const state = (value: number) => ({ news: { $case: 'call', value: viewOf(value) } }) as const;
  const line = (seq: number) =>
    ({ news: { $case: 'progress', value: { seq, message: `m${seq}`, fraction: undefined } } }) as const;
  const heardFrom = async (options = {}) => {
    const heard: string[] = [];
    for await (const news of client.watchCall('c1', options)) {
      heard.push(news.type === 'call' ? news.call.state : news.progress.message);
    }
    return heard;
  };

  it('FD-6: goes on after each break and tells no state twice in a row', async () => {
    gateway.watches.push(
      [state(QUEUED), line(1), bare(status.UNAVAILABLE)],
      [state(QUEUED), line(1)],
      [unavailable()],
      [state(QUEUED), state(5), { news: undefined }, line(2), state(OK), line(3)],
    );
    expect(await heardFrom()).toEqual(['queued', 'm1', 'm1', 'running', 'm2', 'ok']);
    expect(gateway.asked).toHaveLength(4);
  });

  it('ends with any other failure', async () => {
    gateway.watches.push([state(QUEUED), failure('not_found', status.NOT_FOUND)]);
    await expect(heardFrom()).rejects.toMatchObject({ type: 'not_found' });
    expect(gateway.asked).toHaveLength(1);
  });

  it('is given up at the timeout, whether the gateway is silent or away', async () => {
    gateway.watches.push([state(QUEUED)]);
    await expect(heardFrom({ timeoutMs: 200 })).rejects.toMatchObject({ type: 'unavailable' });
    gateway.kill();
    await expect(heardFrom({ timeoutMs: 200 })).rejects.toMatchObject({ type: 'unavailable' });
  });

  it('hands an error of its reader on, and asks no more', async () => {
    gateway.watches.push([state(QUEUED)], [state(OK)]);
    const reading = (async () => {
      for await (const _ of client.watchCall('c1')) throw new Error('mine');
    })();
    await expect(reading).rejects.toThrow('mine');
    expect(gateway.asked).toHaveLength(1);
  });

  it('ends with the reason of the signal', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const watch = client.watchCall('c1', { signal: stop.signal });
    gateway.watches.push([state(QUEUED)]);
    await watch.next();
    const next = watch.next();
    stop.abort(reason);
    await expect(next).rejects.toBe(reason);
  });
});

describe('a connection in the clear', () => {
  it.each(['10.0.0.1:7400', 'example.com:7400', '127.0.0.1.example.com:7400', '[::2]:7400', '0.0.0.0:7400'])(
    'is refused to %s, unless it is said',
    (address) => {
      expect(() => connectFabric({ address, token: TOKEN })).toThrow(FabricError);
      connectFabric({ address, token: TOKEN, insecure: true }).close();
      connectFabric({ address, token: TOKEN, tls: {} }).close();
    },
  );

  it.each(['127.0.0.1:7400', '127.0.0.2:7400', 'localhost:7400', '[::1]:7400'])('is fine to %s', (address) => {
    connectFabric({ address, token: TOKEN }).close();
  });
});
