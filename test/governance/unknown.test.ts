import type { FabricClient } from '@toolfabric/client';
import { openKey, unknownKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { armTracker, disarmTracker, setTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let ada: FabricClient;
let grace: FabricClient;
let bob: FabricClient;
let rival: FabricClient;
let otherAgent: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth', 'tracker', 'egress', 'web']);
  ada = cluster.client();
  grace = cluster.client({ user: 'grace', rights: ['unknown:resolve'] });
  [bob, rival] = [cluster.client({ user: 'bob' }), cluster.client({ tenant: 'rival', rights: ['unknown:resolve'] })];
  otherAgent = cluster.client({ agent: 'reviewer', rights: ['unknown:resolve'] });
  await Promise.all(
    [grace, rival, otherAgent].map((client) => waitFor(() => client.listUnknown().catch(() => undefined))),
  );
  taskId = (await ada.createTask({ title: 'unknown' })).taskId;
}, 60_000);
beforeEach(async () => {
  await Promise.all([cluster.ensure('router'), cluster.ensure('truth'), cluster.ensure('web')]);
  await disarmTracker(cluster.trackerAddress);
  await setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 });
});
afterAll(() => cluster.stop());

/** A write that nothing can look up, whose worker dies over it. */
const blindWrite = async (identity: string): Promise<string> => {
  const armed = await cluster.arm('truth', 'worker.after-write:kill');
  const { callId } = await ada.startCall({ taskId, tool: 'truth.append_blind', args: { identity } });
  await armed.exited;
  await cluster.ensure('truth');
  await cluster.waitForState(callId, ['unknown']);
  return callId;
};

/** A comment whose request was dropped: it is not there, and no probe can prove that it will not come. */
const lostComment = async (key: string): Promise<string> => {
  await armTracker(cluster.trackerAddress, { mode: 'drop_request' });
  const args = { number: 9, body: `about ${key}`, key };
  const { callId } = await ada.startCall({ taskId, tool: 'issue.comment', args });
  await cluster.grant(callId);
  await cluster.waitForState(callId, ['unknown']);
  return callId;
};

const happened = { resolution: 'happened', evidence: { kind: 'comment', ref: 'c1' }, note: 'seen' } as const;
const entry = (callId: string) => cluster.ledger.unknowns.get(unknownKey(ADA.tenant, callId));
const listed = async (client: FabricClient) => (await client.listUnknown()).unknown.map(({ callId }) => callId);
const isListed = (callId: string) => waitFor(async () => (await listed(grace)).includes(callId), { timeoutMs: 20_000 });

describe('RE-2: an unknown call in sight of people', () => {
  it('is listed for who may resolve it and for who asked, with what it was about to do, and for nobody else', async () => {
    const callId = await lostComment('sight');
    await isListed(callId);
    expect(await listed(ada)).toContain(callId);
    expect(await listed(bob)).not.toContain(callId);
    expect(await listed(rival)).toEqual([]);
    const shown = await waitFor(
      async () => {
        const call = await grace.getUnknown(callId);
        return call.answered === 'absent' ? call : undefined;
      },
      { timeoutMs: 20_000, what: 'the first answer' },
    );
    expect(shown).toMatchObject({ callId, tool: { name: 'issue.comment' }, reconciling: true, doubt: false });
    expect(shown.what).toContain('about sight');
    for (const other of [bob, rival])
      await expect(other.getUnknown(callId)).rejects.toMatchObject({ type: 'not_found' });
  });

  it('says whether nothing was there or nothing was found', async () => {
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    await armTracker(cluster.trackerAddress, { mode: 'drop_receipt' });
    const args = { number: 9, body: 'later', key: 'not-visible' };
    const { callId } = await ada.startCall({ taskId, tool: 'issue.comment', args });
    await cluster.grant(callId);
    await cluster.waitForState(callId, ['unknown']);
    await waitFor(async () => (await cluster.call(callId))?.probe?.last === 'not_visible', { timeoutMs: 20_000 });
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    const end = await cluster.waitForState(callId, ['ok', 'error']);
    expect(end).toMatchObject({ state: 'ok', result: { evidence: [{ kind: 'resource' }, { kind: 'query' }] } });
    expect(commentsIn(cluster.trackerFile, 'not-visible')).toHaveLength(1);
  });

  it('leaves the list when it is known', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'drop_receipt' });
    const { callId } = await ada.startCall({
      taskId,
      tool: 'issue.comment',
      args: { number: 9, body: 'x', key: 'known' },
    });
    await cluster.grant(callId);
    await cluster.waitForState(callId, ['ok']);
    await waitFor(async () => (await entry(callId)) === undefined, { timeoutMs: 20_000 });
    await expect(grace.getUnknown(callId)).rejects.toMatchObject({ type: 'not_unknown' });
  });

  it('is told page by page', async () => {
    const calls = [await lostComment('page-1'), await lostComment('page-2'), await lostComment('page-3')];
    for (const callId of calls) await isListed(callId);
    const seen: string[] = [];
    for (let after: string | undefined, pages = 0; pages < 50; pages += 1) {
      const page = await grace.listUnknown({ limit: 1, ...(after === undefined ? {} : { after }) });
      expect(page.unknown.length).toBeLessThanOrEqual(1);
      seen.push(...page.unknown.map(({ callId }) => callId));
      if (page.next === undefined) break;
      after = page.next;
    }
    for (const callId of calls) expect(seen.filter((one) => one === callId)).toHaveLength(1);
  });
});

describe('PO-10: who may resolve', () => {
  it('not without the right, and not who asked, through whichever agent', async () => {
    const callId = await blindWrite('whose');
    await isListed(callId);
    await expect(ada.resolveUnknown(callId, happened)).rejects.toMatchObject({ type: 'forbidden' });
    await expect(otherAgent.resolveUnknown(callId, happened)).rejects.toMatchObject({ type: 'forbidden' });
    await expect(rival.resolveUnknown(callId, happened)).rejects.toMatchObject({ type: 'not_found' });
    expect((await cluster.call(callId))?.state).toBe('unknown');
  });

  it('that it happened needs evidence', async () => {
    const callId = await blindWrite('proof');
    await expect(grace.resolveUnknown(callId, { resolution: 'happened' })).rejects.toMatchObject({
      type: 'invalid_request',
    });
    expect((await cluster.call(callId))?.state).toBe('unknown');
  });
});

describe('RE-2: a resolution', () => {
  it('happened: ok and confirmed, with the evidence and the name of who said so', async () => {
    const callId = await blindWrite('happened');
    const view = await grace.resolveUnknown(callId, happened);
    expect(view).toMatchObject({
      state: 'ok',
      result: {
        sideEffect: 'confirmed',
        attempt: 0,
        evidence: [
          { kind: 'comment', ref: 'c1' },
          { kind: 'person', ref: 'grace', detail: 'seen' },
        ],
      },
    });
    expect(await ada.getCall(callId)).toMatchObject({ state: 'ok' });
    expect(await cluster.claim('truth', callId)).toMatchObject({ state: 'done', toldBy: 'person' });
    await waitFor(async () => (await entry(callId)) === undefined);
    await waitFor(async () => (await cluster.ledger.open.get(openKey(ADA.tenant, callId))) === undefined);
    expect(await grace.resolveUnknown(callId, happened)).toEqual(view);
    const other = grace.resolveUnknown(callId, { resolution: 'did_not_happen' });
    await expect(other).rejects.toMatchObject({ type: 'not_unknown' });
  });

  it('did not happen: an error without effect, and the operation is free for the same action again', async () => {
    const callId = await lostComment('again');
    const view = await grace.resolveUnknown(callId, { resolution: 'did_not_happen' });
    expect(view).toMatchObject({ state: 'error', result: { sideEffect: 'none', error: { type: 'not_applied' } } });
    const args = { number: 9, body: 'about again', key: 'again' };
    const second = await ada.startCall({ taskId, tool: 'issue.comment', args });
    await cluster.grant(second.callId);
    expect(await cluster.waitForState(second.callId, ['ok', 'error', 'unknown'])).toMatchObject({ state: 'ok' });
    expect(commentsIn(cluster.trackerFile, 'again')).toHaveLength(1);
  });

  it('leave: nobody asks any more, it stays in the list with who looked, and can be resolved later', async () => {
    const callId = await lostComment('left');
    const left = await grace.resolveUnknown(callId, { resolution: 'leave', note: 'no access' });
    expect(left.state).toBe('unknown');
    expect(left).not.toHaveProperty('reconciling');
    const shown = await grace.getUnknown(callId);
    expect(shown).toMatchObject({ reconciling: false, left: { user: 'grace', note: 'no access' } });
    const { asked } = shown;
    await waitFor(async () => (await cluster.ledger.open.get(openKey(ADA.tenant, callId))) === undefined);
    expect((await grace.getUnknown(callId)).asked).toBe(asked);
    expect(await grace.resolveUnknown(callId, happened)).toMatchObject({ state: 'ok' });
  });

  it('survives a router that dies over it: the sweep ends the call as the person said', async () => {
    const callId = await blindWrite('dying');
    const armed = await cluster.arm('router', 'router.after-resolve:kill');
    const asking = grace.resolveUnknown(callId, happened, { timeoutMs: 5_000 }).catch((thrown: unknown) => thrown);
    await armed.exited;
    await cluster.ensure('router');
    const end = await cluster.waitForState(callId, ['ok', 'error']);
    expect(end).toMatchObject({ state: 'ok', result: { attempt: 0, sideEffect: 'confirmed' } });
    await asking;
    expect(await grace.resolveUnknown(callId, happened)).toMatchObject({ state: 'ok' });
  });

  it('keeps a receipt that comes after it as late evidence', async () => {
    const paused = await cluster.arm('truth', 'worker.after-write:pause');
    const { callId } = await ada.startCall({ taskId, tool: 'truth.append_blind', args: { identity: 'late' } });
    // Declared dead while it only slept: what it wrote, and its receipt, are still to be told.
    await cluster.waitForState(callId, ['unknown']);
    await grace.resolveUnknown(callId, { resolution: 'did_not_happen' });
    paused.kill('SIGCONT');
    const late = await waitFor(async () => (await cluster.call(callId))?.late, { timeoutMs: 20_000 }).catch(
      () => undefined,
    );
    const end = await cluster.call(callId);
    expect(end).toMatchObject({ state: 'error', result: { error: { type: 'not_applied' } } });
    // A worker that was declared dead ends itself; when it does publish first, that is kept.
    if (late !== undefined) expect(late).toEqual([{ epoch: 1, status: 'ok' }]);
    expect(cluster.truth('late')).toHaveLength(1);
  });
});
