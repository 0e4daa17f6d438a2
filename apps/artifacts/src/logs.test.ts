import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterEach, describe, expect, it } from 'vitest';
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

let under: UnderTest;
afterEach(() => under?.stop());

const permit = callPermit();
const id = idOf(permit, 'log');
const read = (range?: string) =>
  under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id), headers: range === undefined ? {} : { range } });
const record = async () => (await under.ask(`/v1/artifacts/${id}/record`, { permit: readPermit(id) })).json();
const close = (query = '') => under.ask(`/v1/logs/${id}/close${query}`, { method: 'POST', permit: sign(permit) });

describe('live logs', () => {
  it('RE-5: the owner reads what stands there while it grows, and the whole once it is closed', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, '');
    expect((await read()).headers['toolfabric-state']).toBe('live');
    expect((await under.append(permit, 'log', 0, 'one,')).json()).toEqual({ size: 4, dropped: 0 });
    await under.append(permit, 'log', 4, 'two');
    expect([(await read()).body.toString(), (await read('bytes=4-')).body.toString()]).toEqual(['one,two', 'two']);
    expect((await read('bytes=7-')).status).toBe(416);
    expect(await record()).toMatchObject({ state: 'live', size: 7, mediaType: 'text/plain' });
    const closed = await close('?offset=7');
    expect(closed.json()).toEqual({ id, size: 7, dropped: 0, sha256: sha256Hex('one,two') });
    expect((await close('?offset=7')).json()).toEqual(closed.json());
    expect((await read()).body.toString()).toBe('one,two');
    expect(await record()).toMatchObject({ state: 'complete', size: 7, sha256: sha256Hex('one,two') });
    expect(existsSync(join(under.directory, 'acme', 'logs', id))).toBe(false);
  });

  it('RS-4: following it is told, but is no re-read', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'one');
    await read();
    await read('bytes=1-');
    await close();
    await read();
    const told = () =>
      under.events
        .filter(({ type }) => type === 'artifact.read')
        .map(({ attributes: { state, from, bytes, read: kind } }) => [state, from, bytes, kind]);
    await waitFor(() => told().length === 3);
    expect(told()).toEqual([
      ['live', 0, 3, undefined],
      ['live', 1, 2, undefined],
      ['complete', 0, 3, 'first'],
    ]);
  });

  it('the same append again changes nothing; a longer one brings only what is new', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'abc');
    expect((await under.append(permit, 'log', 0, 'abc')).json()).toEqual({ size: 3, dropped: 0 });
    expect((await under.append(permit, 'log', 1, 'bcdef')).json()).toEqual({ size: 6, dropped: 0 });
    expect((await under.append(permit, 'log', 0, 'ab')).json()).toEqual({ size: 6, dropped: 0 });
    expect((await read()).body.toString()).toBe('abcdef');
    await close();
    expect((await under.append(permit, 'log', 3, 'def')).json()).toEqual({ size: 6, dropped: 0 });
    expect((await under.append(permit, 'log', 6, 'more')).error).toBe('conflict');
  });

  it('two appends of one place at one time give one', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, '');
    await Promise.all([1, 2, 3, 4].map(() => under.append(permit, 'log', 0, 'xyz')));
    expect((await read()).body.toString()).toBe('xyz');
  });

  it('refuses a place that the stream did not reach', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'abc');
    expect((await under.append(permit, 'log', 5, 'x')).error).toBe('conflict');
    expect((await close('?offset=9')).error).toBe('conflict');
  });

  it.each([
    '',
    '?offset=-1',
    '?offset=1e3',
    '?offset=x',
    '?offset=1&offset=2',
    '?offset=0&skip=-5',
    '?offset=99999999999999999999',
  ])('refuses the place %s', async (query) => {
    under = await startUnderTest();
    const answer = await under.ask(`/v1/logs/${id}${query}`, { method: 'POST', permit: sign(permit), body: 'x' });
    expect(answer.error).toBe('invalid_request');
  });

  it('counts what does not fit and where, and goes on being harmless to repeat', async () => {
    under = await startUnderTest({ limits: { logBytes: 10 } });
    await under.append(permit, 'log', 0, '12345678');
    expect((await under.append(permit, 'log', 8, '90abcd')).json()).toEqual({ size: 10, dropped: 4 });
    expect((await under.append(permit, 'log', 8, '90abcd')).json()).toEqual({ size: 10, dropped: 4 });
    expect((await under.append(permit, 'log', 14, 'efg')).json()).toEqual({ size: 10, dropped: 7 });
    expect(await record()).toMatchObject({ size: 10, dropped: 7, gapAt: 10 });
    expect((await close('?offset=17')).json()).toMatchObject({ size: 10, dropped: 7 });
    const { headers, body } = await read();
    expect([body.toString(), headers['toolfabric-dropped'], headers['toolfabric-gap-at']]).toEqual([
      '1234567890',
      '7',
      '10',
    ]);
  });

  it('counts what the writer left out, in its place', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'head', 100);
    expect((await under.append(permit, 'log', 0, 'head', 100)).json()).toEqual({ size: 4, dropped: 100 });
    expect((await under.append(permit, 'log', 104, 'tail')).json()).toEqual({ size: 8, dropped: 100 });
    expect(await record()).toMatchObject({ size: 8, dropped: 100, gapAt: 4 });
    expect((await close('?offset=108&skip=2')).json()).toMatchObject({ size: 8, dropped: 102 });
  });

  it('the share of the call bounds a log too', async () => {
    under = await startUnderTest();
    const small = callPermit({ maxBytes: 5 });
    expect((await under.append(small, 'log', 0, '1234567')).json()).toEqual({ size: 5, dropped: 2 });
  });

  it('nobody else writes: another call, another epoch, another tenant', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'mine');
    const others = [
      callPermit({ callId: '2969-other' }),
      callPermit({ epoch: 2 }),
      callPermit({ actor: { ...permit.actor, tenant: 'rival' } }),
    ];
    for (const other of others) {
      const answer = await under.ask(`/v1/logs/${id}?offset=4`, { method: 'POST', permit: sign(other), body: 'x' });
      expect(answer.error).toBe('not_found');
      expect((await under.ask(`/v1/logs/${id}/close`, { method: 'POST', permit: sign(other) })).error).toBe(
        'not_found',
      );
    }
    expect((await read()).body.toString()).toBe('mine');
    expect((await under.put(permit, 'log', 'over it')).error).toBe('conflict');
  });

  it('an append has a bound', async () => {
    under = await startUnderTest();
    expect((await under.append(permit, 'log', 0, 'x'.repeat(1024 * 1024 + 1))).error).toBe('too_large');
    expect((await under.append(permit, 'log', 0, 'x'.repeat(1024 * 1024))).status).toBe(200);
  });

  it('after a restart it stands where its bytes end, whatever the record said', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'abc');
    await under.server.stop();
    // As if the process had died between the bytes and the answer.
    appendFileSync(join(under.directory, 'acme', 'logs', id), 'def');
    under = await under.restart();
    expect(await record()).toMatchObject({ state: 'live', size: 6 });
    expect((await under.append(permit, 'log', 3, 'defg')).json()).toEqual({ size: 7, dropped: 0 });
    expect((await read()).body.toString()).toBe('abcdefg');
  });

  it('after a restart a writer that is further than the log is heard once: what is missing is counted', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'abc');
    under = await under.restart();
    expect((await under.append(permit, 'log', 10, 'xyz')).json()).toEqual({ size: 6, dropped: 7 });
    expect((await under.append(permit, 'log', 10, 'xyz')).json()).toEqual({ size: 6, dropped: 7 });
    expect(await record()).toMatchObject({ dropped: 7, gapAt: 3 });
    expect((await under.append(permit, 'log', 20, 'x')).error).toBe('conflict');
    under = await under.restart();
    expect((await close('?offset=15')).json()).toMatchObject({ size: 6, dropped: 9 });
    expect((await close('?offset=99')).error).toBe('conflict');
  });

  it('a document that cannot be read takes no growing log with it', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'abc');
    const file = join(under.directory, 'acme', 'records', `${id}.json`);
    const whole = readFileSync(file);
    await under.server.stop();
    writeFileSync(file, 'half');
    under = await under.restart();
    expect((await read()).error).toBe('not_found');
    await under.server.stop();
    writeFileSync(file, whole);
    under = await under.restart();
    expect((await read()).body.toString()).toBe('abc');
  });

  it('two logs at one time do not share the last room of the tenant, nor that of their call', async () => {
    under = await startUnderTest({ limits: { tenantBytes: 1_000 } });
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await under.append(permit, name, 0, '');
    const fill = (of: typeof permit) => Promise.all(names.map((name) => under.append(of, name, 0, 'x'.repeat(600))));
    const sizes = (await fill(permit)).map((answer) => answer.json<{ size: number; dropped: number }>());
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBe(1_000);
    expect(sizes.reduce((sum, { dropped }) => sum + dropped, 0)).toBe(1_400);
    const other = callPermit({ maxBytes: 700, actor: { ...permit.actor, tenant: 'roomy' } });
    for (const name of names) await under.append(other, name, 0, '');
    const ofCall = (await fill(other)).map((answer) => answer.json<{ size: number }>());
    expect(ofCall.reduce((sum, { size }) => sum + size, 0)).toBe(700);
  });

  it('is closed as lost when its writer can write no more and nothing came for a while', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 20 });
    await under.append(permit, 'log', 0, 'half');
    clock.advance(5 * 60_000);
    const fresh = () => sign({ action: 'read', actor: permit.actor, artifactId: id, expires: clock.now() + 60_000 });
    const state = async () =>
      (await under.ask(`/v1/artifacts/${id}/record`, { permit: fresh() })).json<{ state: string; lost?: boolean }>();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await state()).toMatchObject({ state: 'live' });
    clock.advance(6 * 60_000);
    await waitFor(async () => (await state()).state === 'complete');
    expect(await state()).toMatchObject({ lost: true, size: 4, sha256: sha256Hex('half') });
    const deleted = await under.ask(`/v1/artifacts/${id}`, {
      method: 'DELETE',
      permit: sign({ action: 'manage', actor: permit.actor, artifactId: id, expires: clock.now() + 60_000 }),
    });
    expect(deleted.status).toBe(204);
  });

  it('a writer that says nothing for hours may go on as long as its permit lasts', async () => {
    const clock = new ManualClock();
    under = await startUnderTest({ clock, sweepEveryMs: 20 });
    const hour = 3_600_000;
    const long = callPermit({ expires: clock.now() + 24 * hour });
    await under.append(long, 'log', 0, 'begun ');
    clock.advance(23 * hour);
    // A round that began before this moment has ended, and one more.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await under.append(long, 'log', 6, 'ended')).json()).toEqual({ size: 11, dropped: 0 });
    clock.advance(2 * hour);
    const fresh = () => sign({ action: 'read', actor: permit.actor, artifactId: id, expires: clock.now() + 60_000 });
    const state = async () =>
      (await under.ask(`/v1/artifacts/${id}/record`, { permit: fresh() })).json<{ state: string; lost?: boolean }>();
    await waitFor(async () => (await state()).state === 'complete');
    expect(await state()).toMatchObject({ lost: true, size: 11 });
  });

  it('is not deleted while it grows', async () => {
    under = await startUnderTest();
    await under.append(permit, 'log', 0, 'x');
    expect((await under.ask(`/v1/artifacts/${id}`, { method: 'DELETE', permit: managePermit(id) })).error).toBe(
      'conflict',
    );
  });
});
