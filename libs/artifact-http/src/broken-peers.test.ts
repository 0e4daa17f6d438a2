import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { PERMIT_TYPE } from '@toolfabric/contract';
import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { afterEach, describe, expect, it } from 'vitest';
import { createArtifactFront } from './artifact-front.ts';
import { createArtifactStore } from './artifact-store.ts';

const permit = {
  type: PERMIT_TYPE,
  kid: 'k',
  sig: 's',
  body: JSON.stringify({
    action: 'call',
    actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
    taskId: 't',
    callId: 'c',
    epoch: 1,
    workspace: 'w',
    maxBytes: 1_000_000,
    retentionDays: 1,
    expires: 1,
  }),
};
const ID = 'a-0123456789abcdefghjkmnpqrs';
const named = { name: 'x', mediaType: 'text/plain', trust: 'untrusted' } as const;
const signal = AbortSignal.timeout(60_000);

const servers: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
const listen = async (server: Server | ReturnType<typeof createTcpServer>): Promise<string> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
/** A peer that waits for the body before it answers, unless `early`. */
const peer = async (answer: RequestListener, early = false): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(request, response));
  });
  server.on('checkContinue', (request, response) => {
    if (early) return void answer(request, response);
    response.writeContinue();
    server.emit('request', request, response);
  });
  return listen(server);
};
const tcp = (onSocket: (socket: Socket) => void): Promise<string> =>
  listen(createTcpServer((socket) => onSocket(socket.on('error', () => {}))));

const body = (state: { asked: number }, chunks = 3) =>
  (async function* () {
    for (let n = 0; n < chunks; n++) {
      state.asked += 1;
      yield Buffer.from('chunk ');
    }
  })();
const session = (url: string, idleMs = 5_000) => createArtifactStore({ url, idleMs }).session(permit);
const failure = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
    return 'none';
  } catch (thrown) {
    return thrown;
  }
};
const error = (type: string, retryable = false) =>
  JSON.stringify({ error: { type, layer: 'runtime', message: type, retryable } });

describe('a store that misbehaves', () => {
  it('that is not there: unavailable after a few tries, without a byte of the body asked for', async () => {
    const state = { asked: 0 };
    expect(await failure(session('http://127.0.0.1:1').put(named, body(state), signal))).toBeInstanceOf(
      StoreUnavailable,
    );
    expect(state.asked).toBe(0);
    expect(await failure(session('http://127.0.0.1:1').head(signal))).toBeInstanceOf(StoreUnavailable);
  });

  it('that is silent: unavailable, at every step', async () => {
    const url = await tcp(() => {});
    expect(await failure(session(url, 100).put(named, body({ asked: 0 }), signal))).toBeInstanceOf(StoreUnavailable);
    expect(await failure(session(url, 100).head(signal))).toBeInstanceOf(StoreUnavailable);
  });

  it('that refuses before the body: nothing of the body is asked for', async () => {
    const state = { asked: 0 };
    const url = await peer((_request, response) => void response.writeHead(507).end(error('artifact_quota')), true);
    const thrown = await failure(session(url).put(named, body(state), signal));
    expect(thrown).toBeInstanceOf(FabricError);
    expect(thrown).toMatchObject({ type: 'artifact_quota' });
    expect(state.asked).toBe(0);
  });

  it('that is full for a moment before the body: tried again', async () => {
    const state = { asked: 0, tries: 0 };
    const stored = { id: ID, size: 18, sha256: sha256Hex('chunk chunk chunk ') };
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(200).end(JSON.stringify(stored)));
    });
    server.on('checkContinue', (request, response) => {
      state.tries += 1;
      if (state.tries < 3) return void response.writeHead(503).end(error('overloaded', true));
      response.writeContinue();
      server.emit('request', request, response);
    });
    expect(await session(await listen(server)).put(named, body(state), signal)).toEqual(stored);
    expect([state.tries, state.asked]).toEqual([3, 3]);
  });

  it('that breaks off after the body: unavailable, and the body is not sent twice', async () => {
    const state = { asked: 0 };
    const url = await peer((request) => void request.socket.destroy());
    expect(await failure(session(url).put(named, body(state), signal))).toBeInstanceOf(StoreUnavailable);
    expect(state.asked).toBe(3);
  });

  it.each([
    ['no JSON', 200, '<html>'],
    ['another form', 200, '{"ok":true}'],
    ['another digest', 200, JSON.stringify({ id: ID, size: 18, sha256: '0'.repeat(64) })],
    ['an error without a form', 500, 'oops'],
    ['a fault of its own', 500, error('internal')],
    ['that it is away', 503, error('unavailable', true)],
    ['a type that nobody knows', 418, error('teapot')],
    ['a redirect', 302, ''],
  ])('that answers %s: unavailable', async (_what, status, text) => {
    const url = await peer(
      (_request, response) => void response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(text),
    );
    expect(await failure(session(url).put(named, body({ asked: 0 }), signal))).toBeInstanceOf(StoreUnavailable);
  });

  it('that sends too little: what was read is right, and then it is unavailable', async () => {
    const url = await peer((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half');
      setTimeout(() => response.destroy(), 20);
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of createArtifactFront({ url }).read(permit, ID, undefined, signal))
        seen.push(Buffer.from(chunk).toString());
    })();
    expect(await failure(reading)).toBeInstanceOf(StoreUnavailable);
    expect(seen.join('')).toBe('half');
  });

  it('that answers a log in an unknown form, and then well: no byte is lost or sent to another place', async () => {
    const asked: string[] = [];
    let total = 0;
    const server = createServer((request, response) => {
      let length = 0;
      request.on('data', (part) => {
        length += part.length;
      });
      request.on('end', () => {
        asked.push(request.url ?? '');
        const offset = Number(new URL(request.url ?? '', 'http://x').searchParams.get('offset'));
        total = Math.max(total, offset + length);
        if (asked.length === 2) return void response.socket?.destroy();
        if (request.url?.includes('/close'))
          return void response.end(JSON.stringify({ id: ID, size: total, sha256: '0'.repeat(64) }));
        response.end(JSON.stringify({ size: total, dropped: 0 }));
      });
    });
    const log = await session(await listen(server)).openLog(named, signal);
    await log.append(Buffer.from('0123456789'));
    await log.append(Buffer.from('ab'));
    expect(await log.close()).toMatchObject({ size: 12 });
    const offsets = asked.map((url) => new URL(url, 'http://x').searchParams.get('offset'));
    expect(offsets).toEqual(['0', '0', '0', '10', '12']);
  });

  it('that goes away: a log waits in bounded memory, counts what does not fit, and catches up', async () => {
    let isAway = false;
    const state = { size: 0, skipped: 0, offset: 0 };
    const server = createServer((request, response) => {
      if (isAway) return void request.socket.destroy();
      let length = 0;
      request.on('data', (part) => {
        length += part.length;
      });
      request.on('end', () => {
        const query = new URL(request.url ?? '', 'http://x').searchParams;
        if (!request.url?.includes('/close')) {
          expect(Number(query.get('offset'))).toBe(state.size + state.skipped);
          state.size += length;
          state.skipped += Number(query.get('skip') ?? 0);
        }
        response.end(JSON.stringify({ ...state, dropped: state.skipped, id: ID, sha256: '0'.repeat(64) }));
      });
    });
    const log = await session(await listen(server)).openLog(named, signal);
    isAway = true;
    const block = Buffer.alloc(100_000, 'x');
    for (let n = 0; n < 30; n++) await log.append(block);
    await expect(log.close()).rejects.toBeInstanceOf(StoreUnavailable);
    isAway = false;
    await log.close();
    expect(state.size + state.skipped).toBe(3_000_000);
    expect(state.size).toBeLessThanOrEqual(1024 * 1024);
    expect(state.size).toBeGreaterThan(500_000);
  });

  it('that refuses a log for good: the writer hears it', async () => {
    const url = await peer((request, response) => {
      if (request.url?.includes('offset=0&')) response.writeHead(403).end(error('forbidden'));
      else response.end(JSON.stringify({ size: 0, dropped: 0 }));
    });
    const log = await session(url).openLog(named, signal);
    expect(await failure(log.append(Buffer.from('x')))).toMatchObject({ type: 'forbidden' });
  });

  it('that refuses a log for good in the middle of it: nothing more is kept or sent', async () => {
    let requests = 0;
    const url = await peer((_request, response) => {
      requests += 1;
      if (requests > 1) response.writeHead(403).end(error('forbidden'));
      else response.end(JSON.stringify({ size: 0, dropped: 0 }));
    });
    const log = await session(url).openLog(named, signal);
    const block = Buffer.alloc(300_000, 'x');
    for (let n = 0; n < 5; n++) expect(await failure(log.append(block))).toMatchObject({ type: 'forbidden' });
    log.skip(10);
    expect(await failure(log.close())).toMatchObject({ type: 'forbidden' });
    expect(requests).toBe(2);
  });

  it.each([
    ['a good answer', 200],
    ['a refusal', 403],
  ])('that falls silent in the middle of %s: unavailable', async (_what, status) => {
    const url = await peer((_request, response) => {
      response.writeHead(status, { 'content-length': 100 }).write('{');
    });
    const front = createArtifactFront({ url, idleMs: 100 });
    expect(await failure(front.describe(permit, ID, signal))).toBeInstanceOf(StoreUnavailable);
    expect(await failure(session(url, 100).put(named, body({ asked: 0 }), signal))).toBeInstanceOf(StoreUnavailable);
  });

  it('a permit that is none is refused before anything is sent', () => {
    const store = createArtifactStore({ url: 'http://127.0.0.1:1' });
    for (const body of ['{', '{}', JSON.stringify({ action: 'list' })]) {
      expect(() => store.session({ ...permit, body })).toThrow(FabricError);
    }
  });

  it('ends by the signal while it waits for anything', async () => {
    const url = await tcp(() => {});
    const ended = () => AbortSignal.timeout(50);
    await expect(session(url).put(named, body({ asked: 0 }), ended())).rejects.toThrow(/abort|timeout/i);
    await expect(session(url).head(ended())).rejects.toThrow(/abort|timeout/i);
    await expect(session('http://127.0.0.1:1').head(ended())).rejects.toThrow();
  });
});
