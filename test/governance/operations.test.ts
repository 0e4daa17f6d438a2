import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallOptions, FabricClient, Proposal } from '@toolfabric/client';
import { uuidv7 } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { armTracker, disarmTracker, setTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let ada: FabricClient;
let otherAgent: FabricClient;
let bob: FabricClient;
const tasks = new Map<FabricClient, string>();
let policies = '';

beforeAll(async () => {
  cluster = await Cluster.startWith(['gateway', 'tracker', 'egress', 'web']);
  policies = join(cluster.directory, 'policies');
  mkdirSync(join(policies, 'tenants', 'acme'), { recursive: true });
  await cluster.spawn('router', '', { TOOLFABRIC_POLICY_DIR: policies }).ready;
  ada = cluster.client();
  otherAgent = cluster.client({ agent: 'reviewer' });
  bob = cluster.client({ user: 'bob' });
  for (const client of [ada, otherAgent, bob]) {
    const task = await waitFor(() => client.createTask({ title: 'operations' }).catch(() => undefined));
    tasks.set(client, task.taskId);
  }
}, 60_000);
beforeEach(async () => {
  await disarmTracker(cluster.trackerAddress);
  await setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 });
});
afterAll(() => cluster.stop());

const written = (key: string) => commentsIn(cluster.trackerFile, key).length;

type Asked = Omit<Proposal, 'taskId'>;
const start = async (client: FabricClient, proposal: Asked, options?: CallOptions): Promise<string> => {
  const { callId } = await client.startCall({ taskId: tasks.get(client) ?? '', ...proposal }, options);
  return callId;
};
const ENDS = ['ok', 'error', 'denied', 'expired', 'cancelled'];

const run = async (client: FabricClient, proposal: Asked) => {
  const callId = await start(client, proposal);
  await cluster.grant(callId);
  return cluster.waitForState(callId, ENDS);
};

const comment = (key: string, body = 'same', tool = 'issue.comment'): Asked => ({
  tool,
  args: { number: 4821, body, key },
});
const noted = (operationKey: string, body = 'same'): Asked => ({
  tool: 'issue.note',
  args: { number: 4821, body, key: `note ${operationKey}` },
  operationKey,
});

/** As somebody else, or an earlier life of this fabric, would have written it. */
const writeOutside = (key: string) =>
  fetch(`http://${cluster.trackerAddress}/issues/4821/comments`, {
    method: 'POST',
    body: JSON.stringify({ body: 'from before', key }),
  });

describe('RE-1: the business identity of a write, by the template of its contract', () => {
  it('the same arguments again: the recorded result, and one comment', async () => {
    const first = await run(ada, comment('again'));
    const second = await run(ada, comment('again'));
    expect(second.callId).not.toBe(first.callId);
    expect(second).toMatchObject({ state: 'ok', result: { data: first.result?.data, sideEffect: 'confirmed' } });
    expect(written('again')).toBe(1);
  });

  it('other arguments under the same key: a conflict, without a word of the other', async () => {
    await run(ada, comment('taken', 'the first text'));
    const other = await run(ada, comment('taken', 'another text'));
    expect(other).toMatchObject({ state: 'error', result: { error: { type: 'conflict' }, sideEffect: 'none' } });
    expect(JSON.stringify(other.result)).not.toContain('first');
    expect(other.result).not.toHaveProperty('data');
    expect(written('taken')).toBe(1);
  });

  it('two at once: one runs, and the other ends as it did', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'delay', delayMs: 1_500 });
    const [first, second] = [await start(ada, comment('twice')), await start(ada, comment('twice'))];
    await Promise.all([cluster.grant(first), cluster.grant(second)]);
    const ends = await Promise.all([first, second].map((callId) => cluster.waitForState(callId, ENDS)));
    expect(ends.map(({ state }) => state)).toEqual(['ok', 'ok']);
    expect(ends[0]?.result?.data).toEqual(ends[1]?.result?.data);
    expect(written('twice')).toBe(1);
  });

  it('the second while the first is unknown: it waits, and ends as the first is found out to have', async () => {
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    await armTracker(cluster.trackerAddress, { mode: 'drop_receipt' });
    const first = await start(ada, comment('unsure'));
    await cluster.grant(first);
    await cluster.waitForState(first, ['unknown']);
    const second = await start(ada, comment('unsure'));
    await cluster.grant(second);
    await cluster.waitForState(second, ['joined']);
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    expect(await cluster.waitForState(second, ENDS)).toMatchObject({ state: 'ok' });
    expect(written('unsure')).toBe(1);
  });

  it('an action that ended without effect frees its key, for other arguments too', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'rate_limited' });
    expect((await run(ada, comment('free', 'one'))).state).toBe('error');
    expect((await run(ada, comment('free', 'two'))).state).toBe('ok');
    expect(commentsIn(cluster.trackerFile, 'free').map(({ body }) => body)).toEqual(['two']);
  });

  it('is unique to its user: another one writes a comment of their own', async () => {
    await run(ada, comment('each'));
    expect(await run(bob, comment('each'))).toMatchObject({ state: 'ok' });
    expect(written('each')).toBe(2);
  });
});

describe('RE-1: a recorded result is handed out only to whom it may be', () => {
  it('not to another agent of the same user: a conflict without content', async () => {
    await run(ada, comment('whose'));
    const other = await run(otherAgent, comment('whose'));
    expect(other).toMatchObject({ state: 'error', result: { error: { type: 'conflict' } } });
    expect(other.result).not.toHaveProperty('data');
    expect(other.result).not.toHaveProperty('evidence');
    expect(written('whose')).toBe(1);
  });

  const forbid = async (rule: string, step: () => Promise<void>) => {
    const file = join(policies, 'tenants', 'acme', 'now.cedar');
    writeFileSync(file, rule);
    try {
      await step();
    } finally {
      rmSync(file);
      const { tool, args } = comment(uuidv7());
      const isBack = async () =>
        (await ada.startCall({ taskId: tasks.get(ada) ?? '', tool, args })).state !== 'refused';
      await waitFor(isBack, { timeoutMs: 20_000, what: 'the policy to be read again' });
    }
  };
  const NO_COMMENTS = '@id("no_comments")\nforbid (principal, action == Action::"issue.comment", resource);\n';

  it('not when the policy forbids it by now, although the result is there', async () => {
    const first = await run(ada, comment('forbidden'));
    expect(first.state).toBe('ok');
    await forbid(NO_COMMENTS, async () => {
      const second = () => ada.startCall({ taskId: tasks.get(ada) ?? '', ...comment('forbidden') });
      const view = await waitFor(
        async () => {
          const now = await second();
          return now.state === 'refused' ? now : undefined;
        },
        { timeoutMs: 20_000, what: 'the policy to be read' },
      );
      expect(view).toMatchObject({ result: { status: 'denied' } });
      expect(view.result).not.toHaveProperty('data');
    });
  });

  it('not when the policy has forbidden it while it waited for the first', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'delay', delayMs: 6_000 });
    const [first, second] = [await start(ada, comment('meanwhile')), await start(ada, comment('meanwhile'))];
    await cluster.grant(first);
    await waitFor(() => written('meanwhile') === 1, { timeoutMs: 20_000 });
    await cluster.grant(second);
    await cluster.waitForState(second, ['joined']);
    await forbid(NO_COMMENTS, async () => {
      const end = await cluster.waitForState(second, ENDS);
      expect(end).toMatchObject({
        state: 'denied',
        result: { error: { type: 'denied_by_policy' }, sideEffect: 'none' },
      });
      expect(end.result).not.toHaveProperty('data');
      expect((await cluster.call(first))?.state).toBe('ok');
    });
  });
});

describe('RE-1: a key that the caller gives', () => {
  it('is one action: the same again is the recorded result, other arguments are a conflict', async () => {
    const key = uuidv7();
    const first = await run(ada, noted(key));
    expect(await run(ada, noted(key))).toMatchObject({ state: 'ok', result: { data: first.result?.data } });
    expect(await run(ada, noted(key, 'other'))).toMatchObject({ result: { error: { type: 'conflict' } } });
    expect(written(`note ${key}`)).toBe(1);
  });

  it('older than operations are remembered is asked about before its first run: found, and not written again', async () => {
    const key = uuidv7(Date.now() - 40 * 86_400_000);
    await writeOutside(`note ${key}`);
    const end = await run(ada, noted(key));
    expect(end).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed', attempt: 0 } });
    expect(written(`note ${key}`)).toBe(1);
    expect(await cluster.claim('web', end.callId)).toBeUndefined();
  });

  it('older than that, of which the other side knows nothing: it runs', async () => {
    const key = uuidv7(Date.now() - 40 * 86_400_000);
    const end = await run(ada, noted(key));
    expect(end).toMatchObject({ state: 'ok', history: 'clear', result: { attempt: 1 } });
    expect(written(`note ${key}`)).toBe(1);
  });
});

describe('RE-1: a derived key at another side that keeps its history', () => {
  const kept = (key: string) => comment(key, 'same', 'issue.comment_kept');

  it('is asked about before its first run, and what is found there is the answer', async () => {
    await writeOutside('kept-found');
    const end = await run(ada, kept('kept-found'));
    expect(end).toMatchObject({
      state: 'ok',
      result: { attempt: 0, evidence: [{ kind: 'resource' }, { kind: 'query' }] },
    });
    expect(written('kept-found')).toBe(1);
  });

  it('waits while nothing is proven, then runs once', async () => {
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    const callId = await start(ada, kept('kept-lag'));
    await cluster.grant(callId);
    const waiting = await waitFor(
      async () => {
        const call = await cluster.call(callId);
        return (call?.probe?.asked ?? 0) >= 2 ? call : undefined;
      },
      { timeoutMs: 20_000 },
    );
    expect(waiting).toMatchObject({ state: 'accepted', probe: { last: 'not_visible' } });
    expect(written('kept-lag')).toBe(0);
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    expect(await cluster.waitForState(callId, ENDS)).toMatchObject({ state: 'ok', history: 'clear' });
    expect(written('kept-lag')).toBe(1);
  });

  it('ends without effect when nothing is proven until its deadline, and its key is free', async () => {
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    const callId = await start(ada, { ...kept('kept-late'), deadlineMs: 2_000 });
    await cluster.grant(callId);
    const end = await cluster.waitForState(callId, ENDS);
    expect(end).toMatchObject({ state: 'expired', result: { sideEffect: 'none' } });
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    expect(await run(ada, kept('kept-late'))).toMatchObject({ state: 'ok' });
    expect(written('kept-late')).toBe(1);
  });

  it('whose record is gone by now is not written a second time', async () => {
    const first = await run(ada, kept('kept-purged'));
    const key = first.operation ?? '';
    const record = await cluster.ledger.operations.get(key);
    expect(record?.value.expiresAt).toBeLessThanOrEqual(Date.now() + 86_400_000);
    expect(record && (await cluster.ledger.operations.remove(key, record.revision))).toBe(true);
    const again = await run(ada, kept('kept-purged'));
    expect(again).toMatchObject({ state: 'ok', result: { attempt: 0, sideEffect: 'confirmed' } });
    expect(written('kept-purged')).toBe(1);
  });

  it('goes on after the router died over the question', async () => {
    await cluster.killAll('router');
    const armed = cluster.spawn('router', 'router.after-operation:kill', { TOOLFABRIC_POLICY_DIR: policies });
    await armed.ready;
    const callId = await start(ada, kept('kept-kill'));
    await cluster.grant(callId);
    await armed.exited;
    await cluster.spawn('router', '', { TOOLFABRIC_POLICY_DIR: policies }).ready;
    expect(await cluster.waitForState(callId, ENDS)).toMatchObject({ state: 'ok' });
    expect(written('kept-kill')).toBe(1);
  });
});
