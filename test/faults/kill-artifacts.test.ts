import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError, type FaultPoint, sha256Hex } from '@toolfabric/kernel';
import { RevisionConflict, StoreUnavailable } from '@toolfabric/ports';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { artifactsOf, blocks, chunksOf, named, textOf } from '../artifacts/support.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let artifacts: ReturnType<typeof artifactsOf>;
const signal = AbortSignal.timeout(300_000);
beforeAll(async () => {
  cluster = await Cluster.start();
  artifacts = artifactsOf(cluster);
});
afterAll(async () => {
  artifacts?.close();
  await cluster?.stop();
});
afterEach(() => cluster.killAll('artifacts'));

let calls = 0;
const ownCall = () => ({ callId: `2969-k${calls++}`, workspace: `w${calls}` });
const filesBelow = (folder: string): string[] =>
  readdirSync(join(cluster.artifactsDir, 'acme', folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
const read = (id: string) => textOf(artifacts.front.read(artifacts.read(id), id, undefined, signal));
const isAbsent = async (id: string): Promise<boolean> => {
  try {
    await read(id);
    return false;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'not_found') return true;
    throw thrown;
  }
};

/** SIGKILL at the named place of the first request; then a fresh process over the same folder. */
const dieAt = async (point: FaultPoint, hit: number, work: () => Promise<unknown>): Promise<void> => {
  const armed = await cluster.arm('artifacts', `${point}:kill:${hit}`);
  await expect(work()).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await armed.exited).toMatchObject({ signal: 'SIGKILL' });
  await cluster.ensure('artifacts');
};

describe('an artifact store that is killed', () => {
  it.each([
    ['artifacts.receiving', 3, 'absent'],
    ['artifacts.received', 1, 'absent'],
    ['artifacts.after-blob', 1, 'absent'],
    ['artifacts.after-document', 1, 'whole'],
  ] as const)('RS-4: at %s (%i) a put is %s afterwards, and the same put again succeeds', async (point, hit, state) => {
    const call = ownCall();
    const id = artifacts.idOf('out', call);
    const put = () => artifacts.session(call).put(named('out'), blocks(40, call.callId), signal);
    await dieAt(point, hit, put);
    if (state === 'absent') {
      expect(await isAbsent(id)).toBe(true);
      expect(filesBelow('tmp')).toEqual([]);
      expect(filesBelow('records')).not.toContain(`${id}.json`);
    }
    const stored = await put();
    expect(sha256Hex(await read(id))).toBe(stored.sha256);
    const others = filesBelow('sha256').filter((name) => name === stored.sha256);
    expect(others).toHaveLength(1);
  });

  it('RE-5: in an append the stream goes on where it came to, without a byte twice', async () => {
    const call = ownCall();
    const armed = await cluster.arm('artifacts', 'artifacts.appending:kill:2');
    const log = await artifacts.session(call).openLog(named('log'), signal);
    await log.append(Buffer.from('one,'));
    await log.append(Buffer.from('two,'));
    await armed.exited;
    await cluster.ensure('artifacts');
    await log.append(Buffer.from('three'));
    const closed = await log.close();
    expect(await read(log.id)).toBe('one,two,three');
    expect(closed.sha256).toBe(sha256Hex('one,two,three'));
  });

  it.each(['artifacts.after-blob', 'artifacts.after-document'] as const)(
    'RE-5: at %s while a log is closed, closing it again gives the whole',
    async (point) => {
      const call = ownCall();
      // The first document is that of the open log.
      const armed = await cluster.arm('artifacts', `${point}:kill:${point === 'artifacts.after-blob' ? 1 : 2}`);
      const log = await artifacts.session(call).openLog(named('log'), signal);
      await log.append(Buffer.from('all of it'));
      await expect(log.close()).rejects.toBeInstanceOf(StoreUnavailable);
      await armed.exited;
      await cluster.ensure('artifacts');
      expect(await log.close()).toMatchObject({ size: 9, sha256: sha256Hex('all of it') });
      expect(await read(log.id)).toBe('all of it');
      expect(filesBelow('logs')).toEqual([]);
    },
  );

  it('RT-10: in the move of a head the same move again finds it, and no second one passes', async () => {
    const call = ownCall();
    await cluster.ensure('artifacts');
    const session = artifacts.session(call);
    const { id } = await session.put(named('snapshot-1'), chunksOf('state'), signal);
    await dieAt('artifacts.after-document', 1, () => session.moveHead(0, id, signal));
    expect(await session.head(signal)).toMatchObject({ generation: 1, manifest: id });
    expect(await session.moveHead(0, id, signal)).toMatchObject({ generation: 1 });
    const other = artifacts.session({ ...ownCall(), workspace: call.workspace });
    await expect(other.moveHead(0, undefined, signal)).rejects.toBeInstanceOf(RevisionConflict);
  });

  it('in a deletion nothing half is left', async () => {
    const call = ownCall();
    await cluster.ensure('artifacts');
    const { id, sha256 } = await artifacts.session(call).put(named('gone'), chunksOf('bytes to go'), signal);
    const permit = () => artifacts.manage(id);
    await dieAt('artifacts.after-removal', 1, () => artifacts.front.manage(permit(), id, { type: 'delete' }, signal));
    expect(await isAbsent(id)).toBe(true);
    expect(filesBelow('sha256')).not.toContain(sha256);
  });

  it('RS-4: a worker that dies in the middle of a put leaves nothing to read', async () => {
    await cluster.ensure('artifacts');
    const call = ownCall();
    const gone = new AbortController();
    async function* dying(): AsyncIterable<Uint8Array> {
      yield* blocks(20);
      gone.abort(new Error('killed'));
      await new Promise(() => {});
    }
    await expect(artifacts.session(call).put(named('out'), dying(), gone.signal)).rejects.toThrow('killed');
    expect(await isAbsent(artifacts.idOf('out', call))).toBe(true);
  });

  it('stops in order: what is under way ends, the folder is free', async () => {
    const service = await cluster.ensure('artifacts');
    const stored = artifacts.session(ownCall()).put(named('last'), blocks(20), signal);
    const { id } = await stored;
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    await cluster.ensure('artifacts');
    expect((await read(id)).length).toBe(20 * 64 * 1024);
  });
});
