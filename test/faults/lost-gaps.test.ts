import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { artifactsOf, named, textOf } from '../artifacts/support.ts';
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

const fileOf = (...names: string[]): string => join(cluster.artifactsDir, 'acme', ...names);
const openLog = async (callId: string) => {
  await cluster.ensure('artifacts');
  const log = await artifacts.session({ callId, workspace: callId }).openLog(named('log'), signal);
  await log.append(Buffer.from('head'));
  return log;
};
const stateOf = async (id: string) => {
  const { size, dropped, gapAt, state } = await artifacts.front.describe(artifacts.read(id), id, signal);
  const text = await textOf(artifacts.front.read(artifacts.read(id), id, undefined, signal));
  return { text, size, dropped, gapAt, state };
};
const WHOLE = { text: 'headtailmore', size: 12, dropped: 100, gapAt: 4, state: 'complete' };

describe('a gap in a log whose store is killed', () => {
  it('RE-5: is not answered for before it is saved; what comes behind it waits, and the log goes on', async () => {
    const log = await openLog('2969-unsaved');
    // No document can be written, while logs grow as before.
    renameSync(fileOf('tmp'), fileOf('tmp-away'));
    log.skip(100);
    await log.append(Buffer.from('tail'));
    await cluster.killAll('artifacts');
    renameSync(fileOf('tmp-away'), fileOf('tmp'));
    await cluster.ensure('artifacts');
    await log.append(Buffer.from('more'));
    await expect.poll(() => log.close().catch(() => undefined), { timeout: 20_000 }).toMatchObject({ size: 12 });
    expect(await stateOf(log.id)).toEqual(WHOLE);
  });

  it('RE-5: is counted once more where its record was lost after all, and the log goes on behind it', async () => {
    const log = await openLog('2969-lost');
    const record = fileOf('records', `${log.id}.json`);
    const before = readFileSync(record);
    log.skip(100);
    await log.append(Buffer.from('tail'));
    await cluster.killAll('artifacts');
    // As a disk leaves it that forgot its last write.
    writeFileSync(record, before);
    await cluster.ensure('artifacts');
    await log.append(Buffer.from('more'));
    await log.close();
    expect(await stateOf(log.id)).toEqual({ ...WHOLE, gapAt: 8 });
  });
});
