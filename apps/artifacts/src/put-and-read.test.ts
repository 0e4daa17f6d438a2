import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { afterEach, describe, expect, it } from 'vitest';
import {
  BOB,
  callPermit,
  idOf,
  readPermit,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';

let under: UnderTest;
afterEach(() => under?.stop());

const blobsOf = (directory: string, tenant = 'acme'): string[] => {
  const root = join(directory, tenant, 'sha256');
  return existsSync(root) ? readdirSync(root).flatMap((folder) => readdirSync(join(root, folder))) : [];
};

describe('put and read', () => {
  it('RS-4: gives back what was stored, with its digest, also after a restart', async () => {
    under = await startUnderTest();
    const permit = callPermit();
    const stored = await under.put(permit, 'out.txt', 'hello');
    const id = idOf(permit, 'out.txt');
    expect(stored.json()).toEqual({ id, size: 5, sha256: sha256Hex('hello') });
    under = await under.restart();
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    expect([read.status, read.body.toString()]).toEqual([200, 'hello']);
    expect(read.headers.etag).toBe(`"${sha256Hex('hello')}"`);
    const record = await under.ask(`/v1/artifacts/${id}/record`, { permit: readPermit(id) });
    expect(record.json()).toMatchObject({
      id,
      name: 'out.txt',
      state: 'complete',
      size: 5,
      trust: 'untrusted',
      pinned: false,
    });
  });

  it('takes the same bytes again and refuses others', async () => {
    under = await startUnderTest();
    const first = await under.put(callPermit(), 'a', 'one');
    const again = await under.put(callPermit(), 'a', 'one');
    expect(again.json()).toEqual(first.json());
    for (const other of ['two', 'one more', 'on', '']) {
      expect((await under.put(callPermit(), 'a', other)).error).toBe('conflict');
    }
  });

  it('lets one of two puts of one id at one time win, whole', async () => {
    under = await startUnderTest();
    const bodies = ['a', 'b'].map((letter) => letter.repeat(3_000_000));
    const answers = await Promise.all(bodies.map((body) => under.put(callPermit(), 'x', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const id = idOf(callPermit(), 'x');
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    const winner = bodies[answers.findIndex(({ status }) => status === 200)] ?? '';
    expect(sha256Hex(read.body)).toBe(sha256Hex(winner));
  });

  it('takes the same bytes twice at one time', async () => {
    under = await startUnderTest();
    const body = 'z'.repeat(2_000_000);
    const answers = await Promise.all([1, 2, 3].map(() => under.put(callPermit(), 'x', body)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(blobsOf(under.directory)).toEqual([sha256Hex(body)]);
  });

  it('stores empty ones', async () => {
    under = await startUnderTest();
    expect((await under.put(callPermit(), 'nothing', '')).json()).toMatchObject({ size: 0, sha256: sha256Hex('') });
    const id = idOf(callPermit(), 'nothing');
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    expect([read.status, read.body.length]).toEqual([200, 0]);
  });

  it('answers HEAD with the size and no bytes', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', '0123456789');
    const id = idOf(callPermit(), 'a');
    const head = await under.ask(`/v1/artifacts/${id}`, { method: 'HEAD', permit: readPermit(id) });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '10', 0]);
  });

  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=-50', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-500', 206, '56789', 'bytes 5-9/10'],
    ['BYTES = 1-1', 206, '1', 'bytes 1-1/10'],
    ['lines=1-2', 200, '0123456789', undefined],
    ['nonsense', 200, '0123456789', undefined],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=999999999999999-', 416, '', 'bytes */10'],
    ['bytes=99999999999999999999-', 416, '', 'bytes */10'],
    ['bytes=4-2', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=-', 416, '', 'bytes */10'],
    ['bytes=0-1,3-4', 416, '', 'bytes */10'],
    ['bytes=0x1-2', 416, '', 'bytes */10'],
    ['bytes=--1', 416, '', 'bytes */10'],
  ])('RS-4: range %s is %i', async (range, status, body, contentRange) => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', '0123456789');
    const id = idOf(callPermit(), 'a');
    const read = await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id), headers: { range } });
    expect([read.status, read.body.toString(), read.headers['content-range']]).toEqual([status, body, contentRange]);
  });

  it('a call reads what itself wrote and snapshots of its own workspace, and nothing else', async () => {
    under = await startUnderTest();
    const own = callPermit({ workspace: 'w1' });
    await under.put(own, 'a', 'mine');
    await under.put(own, 'snapshot-1', 'state');
    const read = async (over: Parameters<typeof callPermit>[0], name: string) =>
      (await under.ask(`/v1/artifacts/${idOf(own, name)}`, { permit: sign(callPermit(over)) })).status;
    expect(await read({ epoch: 2 }, 'a')).toBe(200);
    expect(await read({ callId: '2969-other' }, 'a')).toBe(404);
    expect(await read({ callId: '2969-other', workspace: 'w1' }, 'snapshot-1')).toBe(200);
    expect(await read({ callId: '2969-other', workspace: 'w2' }, 'snapshot-1')).toBe(404);
    expect(await read({ callId: '2969-other' }, 'snapshot-1')).toBe(404);
    expect(await read({ actor: { ...BOB, tenant: 'rival' }, workspace: 'w1' }, 'snapshot-1')).toBe(404);
  });

  it('writes one blob for equal bytes of a tenant, and one more for another tenant', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', 'same');
    await under.put(callPermit(), 'b', 'same');
    await under.put(callPermit({ actor: { ...BOB, tenant: 'rival' } }), 'a', 'same');
    expect([blobsOf(under.directory), blobsOf(under.directory, 'rival')]).toEqual([
      [sha256Hex('same')],
      [sha256Hex('same')],
    ]);
  });

  it('keeps nothing readable by other users of the machine', async () => {
    under = await startUnderTest();
    await under.put(callPermit(), 'a', 'x');
    const blob = sha256Hex('x');
    const { mode } = await import('node:fs').then(({ statSync }) =>
      statSync(join(under.directory, 'acme', 'sha256', blob.slice(0, 2), blob)),
    );
    expect(mode & 0o077).toBe(0);
    expect(readFileSync(join(under.directory, 'acme', 'records', `${idOf(callPermit(), 'a')}.json`), 'utf8')).toContain(
      '"size":1',
    );
  });
});
