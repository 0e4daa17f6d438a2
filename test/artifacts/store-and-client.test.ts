import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { RevisionConflict } from '@toolfabric/ports';
import type { SpawnedService } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { artifactsOf, blocks, chunksOf, named, textOf } from './support.ts';

let cluster: Cluster;
let service: SpawnedService;
let artifacts: ReturnType<typeof artifactsOf>;
const signal = AbortSignal.timeout(300_000);
beforeAll(async () => {
  cluster = await Cluster.start();
  service = await cluster.ensure('artifacts');
  artifacts = artifactsOf(cluster);
});
afterAll(async () => {
  artifacts?.close();
  await cluster?.stop();
});

let calls = 0;
const ownCall = () => ({ callId: `2969-s${calls++}` });
/** Peak of the resident memory of the process, in bytes. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
const typeOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    return thrown instanceof FabricError ? thrown.type : String(thrown);
  }
};

describe('the store and its client', () => {
  it('RS-4: puts, reads whole and in ranges, describes, lists, shares and deletes', async () => {
    const call = ownCall();
    const session = artifacts.session(call);
    const stored = await session.put(named('übersicht (1).txt'), chunksOf('0123', '456789'), signal);
    expect(stored).toEqual({
      id: artifacts.idOf('übersicht (1).txt', call),
      size: 10,
      sha256: sha256Hex('0123456789'),
    });
    const { id } = stored;
    const { front } = artifacts;
    const read = (range?: { from: number; to?: number }) => textOf(front.read(artifacts.read(id), id, range, signal));
    expect(await Promise.all([read(), read({ from: 3 }), read({ from: 2, to: 5 }), read({ from: 8, to: 99 })])).toEqual(
      ['0123456789', '3456789', '234', '89'],
    );
    expect(await Promise.all([read({ from: 10 }), read({ from: 50 }), read({ from: 4, to: 4 })])).toEqual(['', '', '']);
    expect(await textOf(session.read(id, undefined, signal))).toBe('0123456789');
    expect(await front.describe(artifacts.read(id), id, signal)).toMatchObject({ name: 'übersicht (1).txt', size: 10 });
    const { artifacts: listed } = await front.list(artifacts.list(), { callId: call.callId, limit: 10 }, signal);
    expect(listed.map((record) => record.id)).toEqual([id]);
    const shared = await front.manage(artifacts.manage(id), id, { type: 'share', user: 'bob' }, signal);
    expect(shared?.sharedWith).toEqual([{ user: 'bob' }]);
    expect(await front.manage(artifacts.manage(id), id, { type: 'pin' }, signal)).toMatchObject({ pinned: true });
    expect(await typeOf(front.manage(artifacts.manage(id), id, { type: 'delete' }, signal))).toBe('conflict');
    await front.manage(artifacts.manage(id), id, { type: 'unpin' }, signal);
    expect(await front.manage(artifacts.manage(id), id, { type: 'delete' }, signal)).toBeUndefined();
    expect(await typeOf(read())).toBe('not_found');
  });

  it('RS-4: 200 MB go in and out in bounded memory of the store', async () => {
    const before = peakOf(service.pid);
    const call = { ...ownCall(), maxBytes: 300 * 1024 * 1024 };
    const { id, size, sha256 } = await artifacts.session(call).put(named('big'), blocks(3_200), signal);
    expect(size).toBe(3_200 * 64 * 1024);
    const hash = createHash('sha256');
    for await (const chunk of artifacts.front.read(artifacts.read(id), id, undefined, signal)) hash.update(chunk);
    expect(hash.digest('hex')).toBe(sha256);
    expect(peakOf(service.pid) - before).toBeLessThan(100 * 1024 * 1024);
  });

  it('a source is asked for no more than the store takes', async () => {
    const call = { ...ownCall(), maxBytes: 3_000_000 };
    let asked = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (;;) {
        asked += 64 * 1024;
        yield Buffer.alloc(64 * 1024, String(asked));
      }
    }
    expect(await typeOf(artifacts.session(call).put(named('endless'), endless(), signal))).toBe('artifact_quota');
    expect(asked).toBeLessThan(40_000_000);
  });

  it('an error of the source is the answer, and nothing is stored', async () => {
    const call = ownCall();
    async function* failing(): AsyncIterable<Uint8Array> {
      yield Buffer.from('half');
      throw new RangeError('the source broke');
    }
    await expect(artifacts.session(call).put(named('x'), failing(), signal)).rejects.toThrow('the source broke');
    expect(await typeOf(textOf(artifacts.session(call).read(artifacts.idOf('x', call), undefined, signal)))).toBe(
      'not_found',
    );
    expect((await artifacts.session(call).put(named('x'), chunksOf('whole'), signal)).size).toBe(5);
  });

  it('other bytes under one name are a conflict, also at one time', async () => {
    const call = ownCall();
    const session = artifacts.session(call);
    const puts = await Promise.allSettled(
      ['a', 'b', 'a'].map((salt) => session.put(named('x'), blocks(30, salt), signal)),
    );
    const won = puts.flatMap((put) => (put.status === 'fulfilled' ? [put.value.sha256] : []));
    expect(new Set(won).size).toBe(1);
    expect(puts.some(({ status }) => status === 'rejected')).toBe(true);
  });

  it('RE-5: a log is read while it grows, keeps its order, and counts what was skipped in its place', async () => {
    const call = ownCall();
    const log = await artifacts.session(call).openLog(named('log'), signal);
    await log.append(Buffer.from('head '));
    const front = (range?: { from: number }) =>
      textOf(artifacts.front.read(artifacts.read(log.id), log.id, range, signal));
    expect([await front(), await front({ from: 5 })]).toEqual(['head ', '']);
    log.skip(1_000);
    await Promise.all(['a', 'b', 'c', 'd'].map((letter) => log.append(Buffer.from(letter))));
    log.skip(7);
    const closed = await log.close();
    expect(closed).toEqual({ id: log.id, size: 9, sha256: sha256Hex('head abcd') });
    expect(await artifacts.front.describe(artifacts.read(log.id), log.id, signal)).toMatchObject({
      state: 'complete',
      dropped: 1_007,
      gapAt: 5,
    });
    expect(await log.close()).toEqual(closed);
  });

  it('RE-5: a log of more than its cap keeps its beginning and counts the rest', async () => {
    const log = await artifacts.session(ownCall()).openLog(named('log'), signal);
    const block = Buffer.alloc(1024 * 1024, 'x');
    for (let n = 0; n < 20; n++) await log.append(block);
    expect(await log.close()).toMatchObject({ size: 16 * 1024 * 1024 });
    const record = await artifacts.front.describe(artifacts.read(log.id), log.id, signal);
    expect(record).toMatchObject({ dropped: 4 * 1024 * 1024, gapAt: 16 * 1024 * 1024 });
  });

  it('RE-5: a log that is opened again goes on where it stands', async () => {
    const session = artifacts.session(ownCall());
    const first = await session.openLog(named('log'), signal);
    await first.append(Buffer.from('one '));
    const second = await session.openLog(named('log'), signal);
    await second.append(Buffer.from('two'));
    expect((await second.close()).sha256).toBe(sha256Hex('one two'));
  });

  it('RT-10: heads move by compare-and-set; losing one is a RevisionConflict', async () => {
    const one = artifacts.session({ ...ownCall(), workspace: 'w/1' });
    const two = artifacts.session({ ...ownCall(), workspace: 'w/1' });
    const { id } = await one.put(named('snapshot-1'), chunksOf('state'), signal);
    expect(await one.head(signal)).toEqual({ workspace: 'w/1', tenant: 'acme', generation: 0 });
    expect(await one.moveHead(0, id, signal)).toMatchObject({ generation: 1, manifest: id });
    await expect(two.moveHead(0, undefined, signal)).rejects.toBeInstanceOf(RevisionConflict);
    expect(await two.moveHead(1, undefined, signal)).toMatchObject({ generation: 2, manifest: id });
    expect(await textOf(two.read(id, undefined, signal))).toBe('state');
    expect(await typeOf(artifacts.session(ownCall()).head(signal))).toBe('forbidden');
  });

  it('every request ends by its signal', async () => {
    const session = artifacts.session({ ...ownCall(), workspace: 'w' });
    const { id } = await session.put(named('x'), blocks(100), signal);
    const gone = new AbortController();
    const reading = (async () => {
      for await (const _chunk of session.read(id, undefined, gone.signal)) gone.abort(new Error('enough'));
    })();
    await expect(reading).rejects.toThrow('enough');
    const ended = AbortSignal.abort(new Error('before'));
    await expect(session.head(ended)).rejects.toThrow();
    await expect(session.put(named('y'), chunksOf('x'), ended)).rejects.toThrow('before');
  });

  it('a media type comes through without its parameters', async () => {
    const session = artifacts.session(ownCall());
    for (const [given, kept] of [
      ['text/plain; charset=utf-8', 'text/plain'],
      ['no type\r\nx: y', 'application/octet-stream'],
    ] as const) {
      const { id } = await session.put(named(`of ${kept}`, given), chunksOf('x'), signal);
      expect(await artifacts.front.describe(artifacts.read(id), id, signal)).toMatchObject({ mediaType: kept });
    }
  });

  it('a canary in a name and in the bytes appears in no line of its log', async () => {
    await artifacts.session(ownCall()).put(named('canary-7431'), chunksOf('canary-7431'), signal);
    await typeOf(artifacts.session({ maxBytes: 1 }).put(named('canary-7431'), chunksOf('canary-7431'), signal));
    expect(service.log.join('\n')).not.toContain('canary-7431');
  });
});
