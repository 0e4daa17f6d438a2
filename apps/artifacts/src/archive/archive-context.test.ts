import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noFaults, sha256Hex, silentLogger, systemClock } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ByteStore } from '../store/byte-store.ts';
import { openDirectoryStore } from '../store/directory/directory-store.ts';
import { type ArchiveContext, indexOf, keepBlob, releaseBlob } from './archive-context.ts';
import { ArtifactEvents } from './artifact-events.ts';
import { KeyedLock } from './keyed-lock.ts';
import { DEFAULT_LIMITS } from './limits.ts';

let folder: string;
let store: ByteStore;
let ctx: ArchiveContext;
const SIGNAL = AbortSignal.timeout(30_000);
const blob = { sha256: sha256Hex('bytes'), size: 5 };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-archive-'));
  store = await openDirectoryStore(folder, noFaults);
  ctx = {
    store,
    clock: systemClock,
    limits: DEFAULT_LIMITS,
    logger: silentLogger,
    events: new ArtifactEvents({ emit: () => {}, store: async () => {} }, systemClock),
    locks: new KeyedLock(),
    tenants: new Map(),
    traffic: { uploads: 0 },
    pending: new Set(),
  };
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const written = async () => {
  const writer = await store.beginBlob('acme', SIGNAL);
  await writer.write(Buffer.from('bytes'));
  return writer;
};
const stored = async (): Promise<string[]> => {
  const found: string[] = [];
  for await (const { sha256 } of store.blobs('acme')) found.push(sha256);
  return found;
};

describe('references of blobs', () => {
  it('a blob goes with its last reference, not before', async () => {
    const index = indexOf(ctx, 'acme');
    await keepBlob(ctx, index, await written(), blob);
    await keepBlob(ctx, index, await written(), blob);
    await releaseBlob(ctx, index, blob.sha256);
    expect([await stored(), index.bytes]).toEqual([[blob.sha256], 5]);
    await releaseBlob(ctx, index, blob.sha256);
    expect([await stored(), index.bytes]).toEqual([[], 0]);
  });

  it('a reference that comes between the decision to delete and the deletion keeps the blob', async () => {
    const index = indexOf(ctx, 'acme');
    await keepBlob(ctx, index, await written(), blob);
    const writer = await written();
    const gate = Promise.withResolvers<void>();
    const busy = ctx.locks.run(`acme/sha256/${blob.sha256}`, () => gate.promise);
    const kept = keepBlob(ctx, index, writer, blob);
    const released = releaseBlob(ctx, index, blob.sha256);
    gate.resolve();
    await Promise.all([busy, kept, released]);
    expect([await stored(), index.bytes]).toEqual([[blob.sha256], 5]);
  });

  it('a commit that fails holds nothing', async () => {
    const index = indexOf(ctx, 'acme');
    const failing = { ...(await written()), commit: () => Promise.reject(new Error('no room')) };
    await expect(keepBlob(ctx, index, failing as never, blob)).rejects.toThrow('no room');
    expect([index.hasBlob(blob.sha256), index.bytes]).toEqual([false, 0]);
  });
});
