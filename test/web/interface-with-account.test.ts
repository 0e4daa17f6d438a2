import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTracker } from '../peers/tracker/src/client.ts';
import { trackerContracts } from '../peers/tracker/src/interface.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

const SECRET = 'canary-tracker-Zq7LmX2vB9nK4wR8';
let cluster: Cluster;
let ada: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.start({ kinds: ['web'] });
  await cluster.publish(trackerContracts(cluster.trackerAddress, { credential: 'user:tracker' }));
  await cluster.ensure('egress');
  await Promise.all((['router', 'gateway', 'tracker', 'web'] as const).map((app) => cluster.ensure(app)));
  await setTracker(cluster.trackerAddress, { accepts: `Bearer ${SECRET}` });
  ada = cluster.client();
  taskId = (await ada.createTask({ title: 'accounts' })).taskId;
}, 90_000);
afterAll(() => cluster.stop());

const credential = (secret: string) =>
  ada.addCredential({
    handle: 'user:tracker',
    account: 'ada@tracker.example.com',
    audience: { hosts: ['127.0.0.1'], paths: ['/issues'] },
    inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
    kind: 'static',
    secret: { secret },
  });

const ENDS = ['ok', 'error', 'unknown', 'denied', 'expired'];
const read = { tool: 'issue.read', args: { number: 7 } };
const comment = (key: string) => ({ tool: 'issue.comment', args: { number: 7, body: 'Both pass.', key } });

/** A person says yes where one is asked. */
const carryOut = async (action: typeof read | ReturnType<typeof comment>) => {
  const { callId, state } = await ada.startCall({ taskId, ...action });
  if (state === 'awaiting_approval') await cluster.grant(callId);
  return cluster.waitForState(callId, ENDS);
};

describe('WB-4, PO-11: a declared interface whose credential its tools never see', () => {
  it('is not asked without an account', async () => {
    const view = await ada.call({ taskId, ...read });
    expect(view).toMatchObject({ state: 'refused', result: { error: { type: 'credential_missing' } } });
  });

  it('is written to and read as the account, which is put in on the way out', async () => {
    await credential(SECRET);
    const end = await carryOut(comment('mine'));
    const [written, ...more] = commentsIn(cluster.trackerFile, 'mine');
    expect(more).toEqual([]);
    expect(end).toMatchObject({
      state: 'ok',
      decision: { account: 'ada@tracker.example.com' },
      result: { sideEffect: 'confirmed', evidence: [{ kind: 'http-resource', ref: written?.id }] },
    });
    expect(await carryOut(read)).toMatchObject({ state: 'ok', result: { data: { body: { number: 7 } } } });
  });

  it('RS-6: who has read what was written there is asked before the account acts again', async () => {
    const { callId, state } = await ada.startCall({ taskId, ...read });
    expect(state).toBe('awaiting_approval');
    await cluster.grant(callId);
    expect(await cluster.waitForState(callId, ENDS)).toMatchObject({ state: 'ok' });
  });

  it('says that the account is not accepted, and that nothing was written', async () => {
    await credential('canary-of-yesterday');
    expect(await carryOut(comment('stale'))).toMatchObject({
      state: 'error',
      result: { sideEffect: 'none', error: { type: 'credential_refused' } },
    });
    expect(await carryOut(read)).toMatchObject({ result: { error: { type: 'credential_refused' } } });
    expect(commentsIn(cluster.trackerFile, 'stale')).toEqual([]);
  });

  it('leaves the secret in no log', () => {
    expect([...cluster.services].flatMap(({ log }) => log).join('\n')).not.toContain('canary');
  });
});
