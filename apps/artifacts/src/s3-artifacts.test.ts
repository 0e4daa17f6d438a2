import { noFaults, PACES, sha256Hex, silentLogger, systemClock } from '@toolfabric/kernel';
import { afterEach, describe, expect, it } from 'vitest';
import { headName } from './archive/head-name.ts';
import { openStore } from './store/open-store.ts';
import { S3Bucket } from './store/s3/s3-bucket.ts';
import {
  callPermit,
  idOf,
  managePermit,
  readPermit,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';
import { ManualClock } from './testing/manual-clock.ts';
import { type S3Peer, startS3Peer } from './testing/s3-peer.ts';

let peer: S3Peer;
let under: UnderTest;
afterEach(async () => {
  if (peer) peer.fault = undefined;
  await under?.stop();
  await peer?.stop();
});
const begin = async (options: Parameters<typeof startUnderTest>[0] = {}) => {
  peer = await startS3Peer();
  under = await startUnderTest({ store: peer.config, ...options });
};
const keys = () => [
  ...new Set(peer.served.filter((line) => line.startsWith('PUT')).map((line) => line.split('/fabric/')[1] ?? '')),
];

describe('the store over S3', () => {
  it('RS-4: puts, reads in ranges, dedupes and deletes, also after a restart', async () => {
    await begin();
    const permit = callPermit();
    await under.put(permit, 'a', '0123456789');
    await under.put(permit, 'b', '0123456789');
    under = await under.restart();
    const [a, b] = [idOf(permit, 'a'), idOf(permit, 'b')];
    const read = await under.ask(`/v1/artifacts/${a}`, { permit: readPermit(a), headers: { range: 'bytes=2-4' } });
    expect([read.status, read.body.toString()]).toEqual([206, '234']);
    const remove = (id: string) => under.ask(`/v1/artifacts/${id}`, { method: 'DELETE', permit: managePermit(id) });
    expect((await remove(a)).status).toBe(204);
    expect((await under.ask(`/v1/artifacts/${b}`, { permit: readPermit(b) })).body.toString()).toBe('0123456789');
    expect((await remove(b)).status).toBe(204);
    const blob = sha256Hex('0123456789');
    expect(peer.served.filter((line) => line === `DELETE /artifacts/fabric/acme/sha256/${blob}`)).toHaveLength(1);
  });

  it('sends large bodies in parts, and names them by their digest', async () => {
    await begin();
    const body = Buffer.alloc(17_000_000, 'large ');
    const stored = await under.put(callPermit(), 'big', body, { 'transfer-encoding': 'chunked' });
    expect(stored.json()).toMatchObject({ size: body.length, sha256: sha256Hex(body) });
    expect(keys()).toContain(`acme/sha256/${sha256Hex(body)}`);
    const id = idOf(callPermit(), 'big');
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    expect(sha256Hex(read.body)).toBe(sha256Hex(body));
  });

  it('RE-5: grows logs, finds them after a restart, and closes them', async () => {
    await begin();
    const permit = callPermit();
    const id = idOf(permit, 'log');
    await under.append(permit, 'log', 0, 'one,');
    await under.append(permit, 'log', 4, 'two,');
    under = await under.restart();
    await under.append(permit, 'log', 4, 'two,three');
    expect((await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) })).body.toString()).toBe('one,two,three');
    const closed = await under.ask(`/v1/logs/${id}/close?offset=13`, { method: 'POST', permit: sign(permit) });
    expect(closed.json()).toMatchObject({ size: 13, sha256: sha256Hex('one,two,three') });
    expect((await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) })).body.toString()).toBe('one,two,three');
  });

  it('RT-10: heads outlive a restart', async () => {
    await begin();
    const permit = callPermit({ workspace: 'w' });
    const move = (expected: number) =>
      under.ask('/v1/heads/w', { method: 'POST', permit: sign(permit), body: JSON.stringify({ expected }) });
    await move(0);
    await move(1);
    under = await under.restart();
    expect((await under.ask('/v1/heads/w', { permit: sign(permit) })).json()).toMatchObject({ generation: 2 });
    expect((await move(2)).json()).toMatchObject({ generation: 3 });
  });

  it('an outage is unavailable or overloaded, leaves nothing half, and passes', async () => {
    await begin();
    for (const [fault, body] of [
      ['drop', 'x'],
      [503, 'x'],
      [503, Buffer.alloc(12_000_000, 'y')],
    ] as const) {
      // The lease is left alone: a bucket that is away for longer than it ends the process.
      peer.fault = (method, path) => (method === 'GET' || path.endsWith('lease.json') ? undefined : fault);
      const answer = await under.put(callPermit(), 'a', body);
      expect(['unavailable', 'overloaded']).toContain(answer.error);
      peer.fault = undefined;
      expect((await under.ask(`/v1/artifacts/${idOf(callPermit(), 'a')}`, { permit: sign(callPermit()) })).error).toBe(
        'not_found',
      );
    }
    expect((await under.put(callPermit(), 'a', 'good')).status).toBe(200);
  });

  it('a read of which the store sends nothing is an error before it begins', async () => {
    await begin();
    await under.put(callPermit(), 'a', 'bytes');
    peer.fault = (method, path) => (method === 'GET' && path.includes('/sha256/') ? 500 : undefined);
    const id = idOf(callPermit(), 'a');
    expect((await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) })).error).toBe('unavailable');
  });

  it('a process that cannot renew its lease stops, and takes no request any more', async () => {
    await begin();
    peer.fault = (method, path) => (method === 'PUT' && path.endsWith('lease.json') ? 'drop' : undefined);
    expect(await under.server.lost).toContain('does not answer');
    expect((await under.put(callPermit(), 'a', 'x')).error).toBe('unavailable');
    expect((await under.ask('/readyz')).status).toBe(503);
  });

  it('a process that stood still deletes and writes nothing before it knows that the bucket is its own', async () => {
    peer = await startS3Peer();
    const clock = new ManualClock();
    const config = { store: peer.config, pace: PACES.production, faults: noFaults };
    const store = await openStore(config, silentLogger, clock);
    await store.writeDocument('acme', 'records', idOf(callPermit(), 'a'), 'x');
    clock.advance(PACES.production.leaseDeadAfterMs);
    const late = [
      () => store.removeBlob('acme', sha256Hex('x')),
      () => store.removeDocument('acme', 'records', idOf(callPermit(), 'a')),
      () => store.writeDocument('acme', 'records', idOf(callPermit(), 'a'), 'y'),
      () => store.appendLog('acme', idOf(callPermit(), 'log'), 0, Buffer.from('x')),
      () => store.beginBlob('acme', AbortSignal.timeout(1_000)),
    ];
    for (const attempt of late) await expect(attempt()).rejects.toThrow('may be held by another');
    await store.close();
  });

  it('RT-10: a process that lost the bucket without knowing it moves no head', async () => {
    peer = await startS3Peer();
    const open = () =>
      openStore({ store: peer.config, pace: PACES.production, faults: noFaults }, silentLogger, systemClock);
    const name = headName('w');
    const paused = await open();
    await paused.writeDocument('acme', 'heads', name, 'one');
    const bucket = new S3Bucket(peer.config);
    await bucket.remove('lease.json');
    const taker = await open();
    const seen: string[] = [];
    for await (const { text } of taker.documents('acme', 'heads')) seen.push(text);
    await taker.writeDocument('acme', 'heads', name, 'two');
    await expect(paused.writeDocument('acme', 'heads', name, 'late')).rejects.toThrow('another process holds');
    expect(await paused.lost).toContain('another process');
    expect(seen).toEqual(['one']);
    await taker.close();
    await paused.close();
    bucket.close();
  });

  it('refuses a bucket that does not keep conditions, unless it is told that one process runs', async () => {
    peer = await startS3Peer({ keepsConditions: false });
    await expect(startUnderTest({ store: peer.config })).rejects.toThrow('does not keep conditions');
    under = await startUnderTest({ store: { ...peer.config, unfenced: true } });
    expect((await under.put(callPermit(), 'a', 'x')).status).toBe(200);
  });

  it('a bucket or credentials that are wrong end the start', async () => {
    peer = await startS3Peer();
    await expect(startUnderTest({ store: { ...peer.config, bucket: 'absent' } })).rejects.toThrow();
    await expect(
      startUnderTest({ store: { ...peer.config, credentials: { accessKeyId: 'NOBODY', secretAccessKey: 'wrong' } } }),
    ).rejects.toThrow();
    await expect(startUnderTest({ store: { ...peer.config, endpoint: 'http://127.0.0.1:1' } })).rejects.toThrow();
  });
});
