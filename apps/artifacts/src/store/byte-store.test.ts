import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noFaults, PACES, sha256Hex, silentLogger, systemClock } from '@toolfabric/kernel';
import { afterEach, describe, expect, it } from 'vitest';
import { startS3Peer } from '../testing/s3-peer.ts';
import type { ByteStore } from './byte-store.ts';
import { openStore } from './open-store.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const ID = 'a-0123456789abcdefghjkmnpqrs';
const HEAD = 'h-0123456789abcdefghjkmnpqrs';
const PACE = { ...PACES.test, leaseBeatMs: 100, leaseDeadAfterMs: 1_200 };

interface Place {
  open(): Promise<ByteStore>;
  clean(): Promise<void>;
}
const directory = async (): Promise<Place> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-store-'));
  const config = { store: { type: 'directory', directory: folder }, pace: PACE, faults: noFaults } as const;
  return {
    open: () => openStore(config, silentLogger, systemClock),
    clean: async () => rmSync(folder, { recursive: true }),
  };
};
const s3 = async (): Promise<Place> => {
  const peer = await startS3Peer();
  return {
    open: () => openStore({ store: peer.config, pace: PACE, faults: noFaults }, silentLogger, systemClock),
    clean: () => peer.stop(),
  };
};

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
const text = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => Buffer.concat(await all(chunks)).toString();
const put = async (store: ByteStore, body: string, tenant = 'acme'): Promise<string> => {
  const writer = await store.beginBlob(tenant, SIGNAL);
  await writer.write(Buffer.from(body));
  await writer.commit(sha256Hex(body));
  return sha256Hex(body);
};

describe.each([
  ['directory', directory],
  ['s3', s3],
])('byte store: %s', (_name, at) => {
  let place: Place;
  let store: ByteStore;
  const begin = async () => {
    place = await at();
    store = await place.open();
  };
  afterEach(async () => {
    await store.close();
    await place.clean();
  });

  it('gives back blobs, whole and in parts, and lists them by tenant', async () => {
    await begin();
    const sha256 = await put(store, '0123456789');
    await put(store, 'other', 'rival');
    expect(await text(store.readBlob('acme', sha256, { from: 0, to: 10 }, SIGNAL))).toBe('0123456789');
    expect(await text(store.readBlob('acme', sha256, { from: 3, to: 5 }, SIGNAL))).toBe('34');
    expect(await all(store.blobs('acme'))).toEqual([{ sha256, size: 10 }]);
    expect((await store.tenants()).sort()).toEqual(['acme', 'rival']);
    await store.removeBlob('acme', sha256);
    await store.removeBlob('acme', sha256);
    expect(await all(store.blobs('acme'))).toEqual([]);
    await expect(text(store.readBlob('acme', sha256, { from: 0, to: 1 }, SIGNAL))).rejects.toThrow();
  });

  it('keeps a blob of many parts, and an empty one', async () => {
    await begin();
    const block = Buffer.alloc(3 * 1024 * 1024, 'b');
    const writer = await store.beginBlob('acme', SIGNAL);
    for (let n = 0; n < 5; n++) await writer.write(block);
    const sha256 = sha256Hex(Buffer.concat(Array(5).fill(block)));
    await writer.commit(sha256);
    await writer.discard();
    expect(await all(store.blobs('acme'))).toEqual([{ sha256, size: 5 * block.length }]);
    const read = await all(store.readBlob('acme', sha256, { from: 0, to: 5 * block.length }, SIGNAL));
    expect(sha256Hex(Buffer.concat(read))).toBe(sha256);
    await put(store, '');
    expect((await all(store.blobs('acme'))).map(({ size }) => size).sort()).toContain(0);
  });

  it('forgets what was not committed, small and large, and what a writer left that died', async () => {
    await begin();
    for (const size of [10, 12_000_000]) {
      const writer = await store.beginBlob('acme', SIGNAL);
      await writer.write(Buffer.alloc(size, 'x'));
      await writer.discard();
      await writer.discard();
    }
    const dead = await store.beginBlob('acme', SIGNAL);
    await dead.write(Buffer.alloc(12_000_000, 'x'));
    await store.sweepLeftovers('acme');
    expect(await all(store.blobs('acme'))).toEqual([]);
    await dead.discard();
  });

  it('replaces documents as a whole, and reads them after it was opened again', async () => {
    await begin();
    await store.writeDocument('acme', 'records', ID, 'one');
    await store.writeDocument('acme', 'records', ID, 'two');
    await store.writeDocument('acme', 'heads', HEAD, 'head');
    await store.writeDocument('acme', 'heads', HEAD, 'head 2');
    await store.close();
    store = await place.open();
    expect(await all(store.documents('acme', 'records'))).toEqual([{ name: ID, text: 'two' }]);
    expect(await all(store.documents('acme', 'heads'))).toEqual([{ name: HEAD, text: 'head 2' }]);
    await store.writeDocument('acme', 'heads', HEAD, 'head 3');
    await store.removeDocument('acme', 'records', ID);
    await store.removeDocument('acme', 'records', ID);
    expect(await all(store.documents('acme', 'records'))).toEqual([]);
  });

  it('grows logs at their end, and finds their size again', async () => {
    await begin();
    await store.appendLog('acme', ID, 0, Buffer.from('one,'));
    await store.appendLog('acme', ID, 4, Buffer.from('two,'));
    await store.appendLog('acme', ID, 8, Buffer.from('three'));
    const read = (from: number, to: number) => text(store.readLog('acme', ID, { from, to }, SIGNAL));
    expect(await Promise.all([read(0, 13), read(2, 9), read(4, 8), read(13, 13)])).toEqual([
      'one,two,three',
      'e,two,t',
      'two,',
      '',
    ]);
    await store.close();
    store = await place.open();
    expect(await all(store.logs('acme'))).toEqual([{ id: ID, size: 13 }]);
    expect(await read(6, 10)).toBe('o,th');
    await store.removeLog('acme', ID);
    await store.removeLog('acme', ID);
    expect(await all(store.logs('acme'))).toEqual([]);
  });

  it('is held by one at a time', async () => {
    await begin();
    await expect(place.open()).rejects.toThrow('another process holds');
    await store.close();
    store = await place.open();
  });

  it.each(['../acme', 'Acme', '', 'a/b', '.lock'])('takes no tenant named %j', async (tenant) => {
    await begin();
    await expect(put(store, 'x', tenant)).rejects.toThrow();
    await expect(store.writeDocument(tenant, 'records', ID, 'x')).rejects.toThrow();
  });

  it.each(['../../x', 'a-..', `${ID}/../x`, ''])('takes no id %j and no such digest', async (id) => {
    await begin();
    await expect(store.writeDocument('acme', 'records', id, 'x')).rejects.toThrow();
    await expect(store.appendLog('acme', id, 0, Buffer.from('x'))).rejects.toThrow();
    await expect((async () => store.removeBlob('acme', id))()).rejects.toThrow();
  });
});
