import type { CallView } from '@toolfabric/contract';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { approvalKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RouterWorld } from './support/router-world.ts';

const POST = 'notes.post';
const QUOTAS = {
  default: { approvals: 6, approvalsPerActor: 4 },
  tenants: { edits: { approvals: 50, approvalsPerActor: 50, tools: { [POST]: { perSecond: 0.001, burst: 8 } } } },
};

let world: RouterWorld;
beforeAll(async () => {
  const governance = { risk: 'external_write', idempotent: true, claimless: false, resource: 'notes:{/text}' };
  const reconcile = { by: 'probe', fence: 'none', window_ms: 1_000 };
  world = await RouterWorld.start({
    routers: 2,
    quotas: QUOTAS,
    tools: [
      {
        contract: { name: POST, governance: { ...governance, reconcile } },
        effect: 'outside',
        handle: async () => ({}),
      },
    ],
  });
  await waitFor(async () => (await world.bus.leases.keys('router')).length === 2, { what: 'two routers' });
  // Each router sees the other from its next beat on.
  await new Promise((resolve) => setTimeout(resolve, 700));
}, 60_000);
afterAll(() => world.stop());

const actorOf = (tenant: string, agent = 'coder') => ({ tenant, user: 'ada', agent });
const graceOf = (tenant: string) => ({
  ...{ tenant, user: 'grace', agent: 'person', tokenId: 't-grace' },
  rights: ['approvals:decide'],
});

/** The task is the actor's own. */
const asker = async (tenant: string, agent?: string) => {
  const actor = actorOf(tenant, agent);
  const taskId = await world.task({ actor });
  return (text: string, requestKey = uuidv7()): Promise<CallView> =>
    world.front.call({ actor, taskId, tool: POST, args: { text }, requestKey });
};

const pendingOf = async (views: readonly CallView[], tenant: string): Promise<number> => {
  const keys = views.flatMap(({ approvalId }) => (approvalId === undefined ? [] : [approvalKey(tenant, approvalId)]));
  const found = await Promise.all(keys.map((key) => world.bus.approvals.get(key)));
  return found.filter((stored) => stored?.value.state === 'pending').length;
};

const isLimited = ({ state, result }: CallView): boolean =>
  state === 'refused' && result?.error?.type === 'rate_limited' && (result.error.retryAfterMs ?? 0) > 0;
const isWaiting = ({ state }: CallView): boolean => state === 'awaiting_approval';

describe('RT-6: calls that wait for a person', () => {
  it('of one tenant and of one actor are bounded in a flood, whichever router is asked; nobody else is refused', async () => {
    const agents = await Promise.all(['a', 'b', 'c'].map((agent) => asker('flood', agent)));
    const calm = await Promise.all(['calm-1', 'calm-2', 'calm-3'].map((tenant) => asker(tenant)));
    const flood = agents.map((ask, agent) => Promise.all(Array.from({ length: 20 }, (_, n) => ask(`${agent}/${n}`))));
    const others = calm.map(async (ask) => [await ask('1'), await ask('2')]);
    const flooded = await Promise.all(flood);
    for (const views of flooded) expect(views.filter(isWaiting).length).toBeLessThanOrEqual(4);
    const all = flooded.flat();
    expect(all.filter(isWaiting).length).toBeGreaterThan(0);
    expect(all.filter(isWaiting).length).toBeLessThanOrEqual(6);
    expect(all.every((view) => isWaiting(view) || isLimited(view))).toBe(true);
    expect(await pendingOf(all, 'flood')).toBeLessThanOrEqual(6);
    expect((await Promise.all(others)).flat().every(isWaiting)).toBe(true);
  });

  it('get room when one is answered, and a request that waits already finds its call', async () => {
    const ask = await asker('narrow');
    const asked: { readonly key: string; readonly view: CallView }[] = [];
    const fill = async (most: number): Promise<void> => {
      // Which router is asked is chance, and the last place is one router's.
      await waitFor(async () => {
        const key = uuidv7();
        const view = await ask('x', key);
        if (isWaiting(view)) asked.push({ key, view });
        return asked.length === most;
      });
    };
    await fill(4);
    const full = await Promise.all(Array.from({ length: 8 }, () => ask('y')));
    expect(full.every(isLimited)).toBe(true);
    const [first] = asked;
    expect((await ask('x', first?.key)).callId).toBe(first?.view.callId);
    const approvalId = first?.view.approvalId ?? '';
    await world.front.ask('decideApproval', { approver: graceOf('narrow'), approvalId, verdict: 'deny' });
    await fill(5);
  });

  it('are edited with none of them too many: the new one takes the place of the old', async () => {
    const ask = await asker('edited');
    const asked: CallView[] = [];
    await waitFor(async () => {
      const view = await ask('x');
      if (isWaiting(view)) asked.push(view);
      return asked.length === 4;
    });
    const edit = { approver: graceOf('edited'), approvalId: asked[0]?.approvalId ?? '', requestKey: uuidv7() };
    // The place is one router's, as any other.
    const { call } = await waitFor(() =>
      world.front.ask('editApproval', { ...edit, args: { text: 'z' } }).catch((thrown: unknown) => {
        if (thrown instanceof FabricError && thrown.type === 'rate_limited') return undefined;
        throw thrown;
      }),
    );
    expect((await world.ended(call.callId, actorOf('edited'))).state).toBe('ok');
  });
});

describe('RT-6: a person who changes the arguments', () => {
  it('makes a call that counts as one of the actor: above the rate nothing is changed', async () => {
    const ask = await asker('edits');
    const views: CallView[] = [];
    for (let n = 0; n < 12; n += 1) views.push(await ask(String(n)));
    const waiting = views.filter(isWaiting);
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.length).toBeLessThanOrEqual(8);
    const tries = await Promise.all(
      waiting.map(async ({ approvalId = '' }) => {
        const edit = { approver: graceOf('edits'), approvalId, requestKey: uuidv7(), args: { text: 'edited' } };
        const error = await world.front.ask('editApproval', edit).catch((thrown: unknown) => thrown);
        return { approvalId, error };
      }),
    );
    // Twelve calls had eight places: at most those that the other router still has are left.
    const refused = tries.filter(({ error }) => error instanceof FabricError);
    expect(tries.length - refused.length).toBeLessThanOrEqual(8 - waiting.length);
    expect(refused.length).toBeGreaterThan(0);
    for (const { approvalId, error } of refused) {
      expect(error).toMatchObject({ type: 'rate_limited' });
      const stored = await world.bus.approvals.get(approvalKey('edits', approvalId));
      expect(stored?.value.state).toBe('pending');
    }
  });
});
