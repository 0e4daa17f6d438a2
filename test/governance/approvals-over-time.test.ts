import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApprovalCluster } from './support/approval-cluster.ts';

let world: ApprovalCluster;
let folder = '';
let changes = 0;

/** The policy of the tenant from now on; every router that is told of the folder reads it again. */
const policy = (text: string): void => {
  changes += 1;
  writeFileSync(join(folder, 'tenants', 'acme', 'own.cedar'), `// ${changes}\n${text}\n`);
};
const router = (faults = '') => world.cluster.spawn('router', faults, { TOOLFABRIC_POLICY_DIR: folder });

beforeAll(async () => {
  world = await ApprovalCluster.start();
  folder = join(world.cluster.directory, 'policies');
  mkdirSync(join(folder, 'tenants', 'acme'), { recursive: true });
  policy('');
}, 60_000);
beforeEach(async () => {
  await world.cluster.killAll('router');
  policy('');
  await router().ready;
  await world.cluster.ensure('truth');
});
afterAll(() => world.stop());

const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'answered',
    (thrown: unknown) => (thrown instanceof FabricError ? thrown.type : 'nothing typed'),
  );

/** The version that decides now, as a new call shows it. */
const versionNow = async (): Promise<string> => {
  const { callId, approvalId } = await world.ask(`version-${changes}-${Math.random().toString(36).slice(2)}`);
  const version = (await world.record(approvalId))?.policyVersion ?? '';
  await world.ada.cancelCall(callId);
  return version;
};
const moved = (before: string) =>
  waitFor(async () => (await versionNow().catch(() => before)) !== before, { timeoutMs: 15_000, what: 'the policy' });

describe('PO-4: a policy that changes after the question', () => {
  it('and now forbids it: the yes is of no use, and nothing is run', async () => {
    const before = await versionNow();
    const { callId, approvalId } = await world.ask('policy/forbidden');
    policy('forbid (principal, action == Action::"note.post", resource);');
    await waitFor(
      async () => {
        const args = { identity: 'policy/asked' };
        return (await world.ada.call({ taskId: world.taskId, tool: 'note.post', args })).state === 'refused';
      },
      { timeoutMs: 15_000, what: `a policy after ${before}` },
    );
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({
      state: 'denied',
      result: { sideEffect: 'none', error: { type: 'approval_changed' } },
    });
    expect(world.times('policy/forbidden')).toBe(0);
  });

  it('in another place: it is asked again, says the same, and the yes holds', async () => {
    const before = await versionNow();
    const { callId, approvalId } = await world.ask('policy/elsewhere');
    policy('forbid (principal, action == Action::"truth.append_blind", resource);');
    await moved(before);
    await world.grace.grantApproval(approvalId);
    const end = await world.ended(callId);
    expect(end).toMatchObject({ state: 'ok' });
    expect(end.decision.policyVersion).not.toBe(before);
    expect(world.times('policy/elsewhere')).toBe(1);
  });
});

describe('PO-4: two routers and one yes', () => {
  it('use it up once, and the write happens once', async () => {
    await router().ready;
    for (let round = 0; round < 8; round += 1) {
      const identity = `two/${round}`;
      const { callId, approvalId } = await world.ask(identity);
      // Beside the router that the answer goes to, the sweep of the other sees the yes by itself.
      const by = { user: 'grace', tokenId: 'grace' };
      await Promise.all([
        world.tamper(approvalId, { state: 'granted', decidedBy: by }, 'pending'),
        refusal(world.grace.grantApproval(approvalId)),
        refusal(world.linus.grantApproval(approvalId)),
      ]);
      expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
      expect(world.times(identity)).toBe(1);
      expect(await world.record(approvalId)).toMatchObject({ state: 'consumed' });
    }
  });

  it.each(['router.after-approval:kill', 'router.after-queued:kill', 'router.after-publish:kill'])(
    'one dies at %s: another goes on, and it happens once',
    async (fault) => {
      const identity = `dies/${fault}`;
      const { callId, approvalId } = await world.ask(identity.replaceAll(':', '-'));
      await world.cluster.killAll('router');
      const armed = router(fault);
      await armed.ready;
      await refusal(world.grace.grantApproval(approvalId, undefined, { timeoutMs: 2_000 }));
      await armed.exited;
      await router().ready;
      expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
      expect(world.times(identity.replaceAll(':', '-'))).toBe(1);
      expect(await world.grace.grantApproval(approvalId)).toMatchObject({ state: 'consumed' });
    },
    40_000,
  );
});

describe('L5: three hundred that wait', () => {
  it('outlive the death of every service; each is answered, and runs or does not', async () => {
    const asked: { callId: string; approvalId: string; identity: string }[] = [];
    for (let n = 0; n < 300; n += 20)
      asked.push(
        ...(await Promise.all(
          Array.from({ length: 20 }, async (_, i) => {
            const identity = `many/${n + i}`;
            return { identity, ...(await world.ask(identity)) };
          }),
        )),
      );
    const { cluster } = world;
    await Promise.all([cluster.killAll('router'), cluster.killAll('gateway'), cluster.killAll('truth')]);
    await Promise.all([cluster.spawn('gateway').ready, router().ready, cluster.ensure('truth')]);
    const seen = new Set<string>();
    for (let after: string | undefined; ; ) {
      const page = await world.grace.listApprovals({ limit: 100, ...(after === undefined ? {} : { after }) });
      for (const { callId } of page.approvals) seen.add(callId);
      after = page.next;
      if (after === undefined) break;
    }
    expect(asked.filter(({ callId }) => !seen.has(callId))).toEqual([]);
    for (let n = 0; n < asked.length; n += 20)
      await Promise.all(
        asked.slice(n, n + 20).map(({ approvalId }, i) => {
          const answer = i % 4 === 3 ? world.grace.denyApproval : world.grace.grantApproval;
          return answer(approvalId);
        }),
      );
    const ends = await Promise.all(asked.map(({ callId }) => cluster.waitForState(callId, ['ok', 'denied'], 90_000)));
    expect(ends.map(({ state }) => state)).toEqual(asked.map((_, i) => (i % 4 === 3 ? 'denied' : 'ok')));
    expect(asked.map(({ identity }) => world.times(identity))).toEqual(asked.map((_, i) => (i % 4 === 3 ? 0 : 1)));
    const waiting = (await world.grace.listApprovals({ limit: 100 })).approvals.map(({ callId }) => callId);
    expect(asked.filter(({ callId }) => waiting.includes(callId))).toEqual([]);
  }, 180_000);
});
