import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import {
  callPermit,
  idOf,
  managePermit,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';
import { ManualClock } from './testing/manual-clock.ts';

let under: UnderTest;
afterEach(() => under?.stop());

const DAY = 86_400_000;
const remove = (name: string, permit = callPermit()) =>
  under.ask(`/v1/artifacts/${idOf(permit, name)}`, { method: 'DELETE', permit: managePermit(idOf(permit, name)) });
const files = (folder: string): string[] => {
  const root = join(under.directory, 'acme', folder);
  return existsSync(root)
    ? readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((e) => e.isFile())
        .map((e) => e.name)
    : [];
};

describe('quotas', () => {
  it('a tenant has its bytes, while they come in, and gets them back', async () => {
    under = await startUnderTest({ limits: { tenantBytes: 100 } });
    expect((await under.put(callPermit(), 'a', 'a'.repeat(60))).status).toBe(200);
    expect((await under.put(callPermit(), 'b', 'b'.repeat(41))).error).toBe('artifact_quota');
    expect(files('tmp')).toEqual([]);
    expect((await under.put(callPermit(), 'c', 'c'.repeat(40))).status).toBe(200);
    const other = callPermit({ actor: { ...callPermit().actor, tenant: 'rival' } });
    expect((await under.put(other, 'd', 'd'.repeat(90))).status).toBe(200);
    await remove('a');
    expect((await under.put(callPermit(), 'b', 'b'.repeat(60))).status).toBe(200);
  });

  it('a body that is not announced is stopped where the room ends', async () => {
    under = await startUnderTest({ limits: { tenantBytes: 100_000 } });
    const answer = await under.put(callPermit(), 'a', 'a'.repeat(5_000_000), { 'transfer-encoding': 'chunked' });
    expect([answer.error, files('tmp'), files('sha256')]).toEqual(['artifact_quota', [], []]);
  });

  it('what is on its way counts: many at one time do not get past the quota', async () => {
    under = await startUnderTest({ limits: { tenantBytes: 1_000_000 } });
    const puts = Array.from({ length: 10 }, (_, n) => under.put(callPermit(), `n${n}`, String(n).repeat(300_000)));
    const stored = (await Promise.all(puts)).filter(({ status }) => status === 200);
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.length).toBeLessThanOrEqual(3);
  });

  it('equal bytes count once, and stay until the last record goes', async () => {
    under = await startUnderTest({ limits: { tenantBytes: 150 } });
    await under.put(callPermit(), 'a', 'x'.repeat(70));
    await under.put(callPermit(), 'b', 'x'.repeat(70));
    await remove('a');
    expect(files('sha256')).toHaveLength(1);
    under = await under.restart();
    expect((await under.put(callPermit(), 'c', 'y'.repeat(81))).error).toBe('artifact_quota');
    expect((await under.put(callPermit(), 'c', 'y'.repeat(80))).status).toBe(200);
    await remove('b');
    expect(files('sha256')).toHaveLength(1);
    expect((await under.put(callPermit(), 'd', 'z'.repeat(70))).status).toBe(200);
  });

  it('bytes are never deleted from under a record that was made at that moment', async () => {
    under = await startUnderTest();
    for (let round = 0; round < 25; round++) {
      const body = `round ${round}`;
      const [old, fresh] = [`old ${round}`, `fresh ${round}`];
      await under.put(callPermit({ callId: `2969-${round}` }), old, body);
      const [gone, stored] = await Promise.all([
        remove(old, callPermit({ callId: `2969-${round}` })),
        under.put(callPermit({ callId: `2969-${round}` }), fresh, body),
      ]);
      expect([gone.status, stored.status]).toEqual([204, 200]);
      const id = idOf(callPermit({ callId: `2969-${round}` }), fresh);
      const read = await under.ask(`/v1/artifacts/${id}`, { permit: sign(callPermit({ callId: `2969-${round}` })) });
      expect(read.body.toString()).toBe(body);
    }
    expect(files('sha256')).toHaveLength(25);
  });

  it('a tenant has a count of artifacts, and a call too', async () => {
    under = await startUnderTest({ limits: { tenantArtifacts: 3, callArtifacts: 2 } });
    await under.put(callPermit(), 'a', '1');
    await under.put(callPermit(), 'b', '2');
    expect((await under.put(callPermit(), 'c', '3')).error).toBe('artifact_quota');
    const other = callPermit({ callId: '2969-other' });
    expect((await under.put(other, 'd', '4')).status).toBe(200);
    expect((await under.put(other, 'e', '5')).error).toBe('artifact_quota');
  });

  it('a call has the bytes of its permit, snapshots not counted', async () => {
    under = await startUnderTest();
    const small = callPermit({ maxBytes: 10, workspace: 'w' });
    expect((await under.put(small, 'a', '123456')).status).toBe(200);
    expect((await under.put(small, 'b', '12345')).error).toBe('artifact_quota');
    expect((await under.put(small, 'snapshot-1', 'x'.repeat(1_000))).status).toBe(200);
    expect((await under.put(small, 'c', '1234')).status).toBe(200);
    expect((await under.put({ ...small, epoch: 2 }, 'a', '1234567890')).status).toBe(200);
  });

  it('only so many bodies come in at one time; the rest hear when to come again', async () => {
    under = await startUnderTest({ limits: { tenantUploads: 1 } });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => under.put(callPermit(), `n${n}`, String(n).repeat(2_000_000))),
    );
    const refused = answers.filter(({ error }) => error === 'overloaded');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect((await under.put(callPermit(), 'later', 'x')).status).toBe(200);
  });

  it('one artifact has a size', async () => {
    under = await startUnderTest({ limits: { artifactBytes: 1_000 } });
    expect((await under.put(callPermit(), 'a', 'x'.repeat(1_001))).error).toBe('too_large');
    expect((await under.put(callPermit(), 'a', 'x'.repeat(1_000))).status).toBe(200);
  });
});

describe('expiry', () => {
  it('deletes what is old enough, record and bytes, and says so; a pin keeps', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 20 });
    const permit = callPermit({ retentionDays: 2, expires: Date.now() + 10 * DAY });
    await under.put(permit, 'old', 'gone');
    await under.put(permit, 'kept', 'stays');
    const id = idOf(permit, 'kept');
    const pin = (verb: string) =>
      under.ask(`/v1/artifacts/${id}/${verb}`, {
        method: 'POST',
        permit: sign({ action: 'manage', actor: permit.actor, artifactId: id, expires: Date.now() + 10 * DAY }),
      });
    await pin('pin');
    clock.advance(2 * DAY + 1_000);
    await waitFor(() => files('records').length === 1);
    await waitFor(() => files('sha256').length === 1);
    const expired = () => under.events.filter(({ type }) => type === 'artifact.expired');
    await waitFor(() => expired().length > 0);
    expect(expired()).toMatchObject([
      { tenant: 'acme', callId: permit.callId, attributes: { artifact: idOf(permit, 'old'), bytes: 4 } },
    ]);
    await pin('unpin');
    await waitFor(() => files('sha256').length === 0);
  });

  it('what has expired is not read before it is swept', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 3_600_000 });
    const permit = callPermit({ retentionDays: 1, expires: Date.now() + 10 * DAY });
    await under.put(permit, 'old', 'x');
    clock.advance(DAY + 1);
    expect((await under.ask(`/v1/artifacts/${idOf(permit, 'old')}`, { permit: sign(permit) })).error).toBe('not_found');
  });

  it('a snapshot lives as long as its workspace is used', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 20 });
    const permit = callPermit({ retentionDays: 2, workspace: 'w', expires: Date.now() + 30 * DAY });
    const move = (expected: number, manifest?: string) =>
      under.ask('/v1/heads/w', { method: 'POST', permit: sign(permit), body: JSON.stringify({ expected, manifest }) });
    await under.put(permit, 'snapshot-1', 'state');
    await move(0, idOf(permit, 'snapshot-1'));
    clock.advance(1.5 * DAY);
    await move(1);
    clock.advance(1.5 * DAY);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(files('records')).toHaveLength(1);
    clock.advance(DAY);
    await waitFor(() => files('records').length === 0);
  });
});

describe('what a dead process left', () => {
  it('goes at the next start: bytes without a record, half files, closed logs; what is broken stays and is not read', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', 'good');
    await under.server.stop();
    const { mkdirSync, writeFileSync, rmSync } = await import('node:fs');
    const root = join(under.directory, 'acme');
    mkdirSync(join(root, 'sha256', 'ab'), { recursive: true });
    writeFileSync(join(root, 'sha256', 'ab', `ab${'0'.repeat(62)}`), 'nobody');
    writeFileSync(join(root, 'tmp', 'half'), 'half');
    writeFileSync(join(root, 'logs', idOf(callPermit(), 'a')), 'closed');
    under = await under.restart();
    expect([files('tmp'), files('logs'), files('sha256').length]).toEqual([[], [], 1]);
    await under.server.stop();
    rmSync(join(root, 'sha256'), { recursive: true });
    under = await under.restart();
    expect((await under.ask(`/v1/artifacts/${idOf(callPermit(), 'a')}`, { permit: sign(callPermit()) })).error).toBe(
      'not_found',
    );
    expect(files('records')).toHaveLength(1);
  });

  it('with a record that cannot be read no bytes are deleted', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', 'good');
    await under.server.stop();
    const { writeFileSync } = await import('node:fs');
    writeFileSync(join(under.directory, 'acme', 'records', `${idOf(callPermit(), 'a')}.json`), '{"format":9}');
    under = await under.restart();
    expect(files('sha256')).toHaveLength(1);
  });

  it('a second process does not get the same folder', async () => {
    under = await startUnderTest();
    await expect(startUnderTest({ directory: under.directory })).rejects.toThrow('another process');
  });
});
