import type { FabricClient } from '@toolfabric/client';
import { ANSWERED, type CallView, type WorkBody } from '@toolfabric/contract';
import { callIdFor, uuidv7 } from '@toolfabric/kernel';
import { workSubject } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';
import type { Action, AdapterUnderTest, Rig } from './adapter.ts';
import { FORGERIES } from './forgeries.ts';
import { RIVAL, startRouter } from './start-router.ts';

const WAIT = { waitMs: 30_000, timeoutMs: 40_000 };
/** Looks like a token that gives access to something. */
const CANARY = `ghp_${'A1b2C3d4E5f6'.repeat(3)}`;

/**
 * RT-9: what every adapter keeps, whatever it reaches. A suite of one adapter is a file of two lines; an adapter that
 * does not pass is not part of the fabric.
 */
export const describeConformance = (adapter: AdapterUnderTest): void => {
  describe(`RT-9: the adapter ${adapter.name} keeps what every adapter keeps`, () => {
    let cluster: Cluster;
    let client: FabricClient;
    let rig: Rig;
    beforeAll(async () => {
      cluster = await Cluster.startWith([
        ...['artifacts', 'gateway', 'trace-writer'],
        ...adapter.services,
        adapter.worker,
      ] as Parameters<typeof Cluster.startWith>[0]);
      await adapter.prepare?.(cluster);
      await startRouter(cluster, adapter);
      client = cluster.client();
      rig = await adapter.rig(cluster, client);
    }, 90_000);
    afterAll(() => cluster.stop());

    const propose = (action: Action, more: { requestKey?: string; deadlineMs?: number } = {}) =>
      client.startCall({ taskId: rig.taskId, ...action, ...more });
    /** A person says yes where one is asked. */
    const settle = async (begun: CallView): Promise<CallView> => {
      if (begun.state === 'awaiting_approval') await cluster.grant(begun.callId);
      return waitFor(
        async () => {
          const view = await client.getCall(begun.callId);
          return ANSWERED.has(view.state) ? view : undefined;
        },
        { timeoutMs: 40_000, what: `${begun.callId} to be answered` },
      );
    };
    const carryOut = async (action: Action): Promise<CallView> => settle(await propose(action));

    it('registry: its tools are listed with their digest, and a version that is not there is named as such', async () => {
      const { tools } = await client.listTools();
      const listed = tools.find(({ name }) => name === rig.read.tool);
      expect(listed).toMatchObject({ state: 'published', digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
      const view = await client.call({ taskId: rig.taskId, tool: `${rig.read.tool}@9.9.9`, args: rig.read.args }, WAIT);
      expect(view).toMatchObject({
        state: 'refused',
        result: { error: { type: 'unknown_version' }, sideEffect: 'none' },
      });
    });

    it('schema: arguments that do not fit are refused by field, and nothing runs', async () => {
      const view = await client.call({ taskId: rig.taskId, ...rig.malformed.action }, WAIT);
      expect(view).toMatchObject({
        state: 'refused',
        result: { error: { type: 'invalid_arguments', retryable: false } },
      });
      expect(view.result?.error?.fields?.map(({ field }) => field)).toContain(rig.malformed.field);
    });

    it('identity: the call of one user is not there for another, and his task is closed to them', async () => {
      const view = await carryOut(rig.read);
      const bob = cluster.client({ user: 'bob' });
      await expect(bob.getCall(view.callId)).rejects.toMatchObject({ type: 'not_found' });
      const tried = await bob.call({ taskId: rig.taskId, ...rig.read }, WAIT);
      expect(tried).toMatchObject({ state: 'refused', result: { error: { type: 'not_found' } } });
      const rival = cluster.client({ tenant: RIVAL });
      await expect(rival.getCall(view.callId)).rejects.toMatchObject({ type: 'not_found' });
    });

    it('policy: a tenant whose policy forbids the tool is refused, and nothing runs', async () => {
      const rival = cluster.client({ tenant: RIVAL });
      const { taskId } = await rival.createTask({ title: 'forbidden' });
      const view = await rival.call({ taskId, ...rig.write('forbidden') }, WAIT);
      expect(view).toMatchObject({
        state: 'refused',
        result: { status: 'denied', sideEffect: 'none', error: { type: 'denied_by_policy', layer: 'policy' } },
      });
      expect(view.result?.summary).toContain(`tenant.${RIVAL}.not_here`);
      const names = (await rival.listTools()).tools.map(({ name }) => name);
      expect(names).toContain(rig.read.tool);
      expect(names).not.toContain(adapter.writeTool);
      expect(rig.happened('forbidden')).toBe(0);
    });

    it('approval: nothing happens before the yes; a no ends it denied with nothing done; the one who asked cannot say yes', async () => {
      const rights = ['approvals:decide', 'approvals:strong'];
      const people = ['grace', 'linus'].map((user) => cluster.client({ user, rights }));
      const own = cluster.client({ rights });
      for (const person of [...people, own])
        await waitFor(() => person.listApprovals({ limit: 1 }).catch(() => undefined), { timeoutMs: 10_000 });
      const ask = async (identity: string) => {
        const { callId, state, approvalId = '' } = await propose(rig.asking(identity));
        expect({ state, happened: rig.asked(identity) }).toEqual({ state: 'awaiting_approval', happened: 0 });
        return { callId, approvalId };
      };

      const refused = await ask('refused');
      await expect(own.grantApproval(refused.approvalId)).rejects.toMatchObject({ type: 'forbidden' });
      await people[0]?.denyApproval(refused.approvalId, 'not today');
      expect(await cluster.waitForState(refused.callId, [...ANSWERED])).toMatchObject({
        state: 'denied',
        result: { status: 'denied', sideEffect: 'none', attempt: 0, error: { type: 'approval_denied' } },
      });
      expect(rig.asked('refused')).toBe(0);

      const { approvalId: hiding } = await ask(`canary-${CANARY}`);
      const { preview = '', strength } = (await people[0]?.denyApproval(hiding)) ?? {};
      expect({ strength, shown: preview.includes(CANARY) }).toEqual({ strength: 'strong', shown: false });
      expect(preview).toContain('[redacted:');

      const allowed = await ask('allowed');
      await expect(own.grantApproval(allowed.approvalId)).rejects.toMatchObject({ type: 'forbidden' });
      expect(await client.getCall(allowed.callId)).toMatchObject({ state: 'awaiting_approval' });
      for (const person of people) {
        const { state } = await person.getApproval(allowed.approvalId);
        if (state === 'pending') await person.grantApproval(allowed.approvalId);
      }
      expect(await cluster.waitForState(allowed.callId, [...ANSWERED])).toMatchObject({ state: 'ok' });
      expect(rig.asked('allowed')).toBe(1);
    });

    it('PO-9: constraints: what the task confirms waits for a person, and its limits reach the executor', async () => {
      const taskId = await rig.taskUnder({ confirm: [rig.read.tool], limits: { timeoutMs: 4_321 } });
      const waiting = await client.startCall({ taskId, ...rig.read });
      expect(waiting).toMatchObject({
        state: 'awaiting_approval',
        result: { decision: { limits: { timeoutMs: 4_321 } } },
      });
      expect(await settle(waiting)).toMatchObject({
        state: 'ok',
        result: { decision: { limits: { timeoutMs: 4_321 } } },
      });
      expect((await propose(rig.read)).state).not.toBe('awaiting_approval');
    });

    it('result: a read says how it went, as which tool, by which decision, and where its content is from', async () => {
      expect(await carryOut(rig.read)).toMatchObject({
        state: 'ok',
        result: {
          status: 'ok',
          sideEffect: 'none',
          trust: 'untrusted',
          origin: expect.stringMatching(rig.origin),
          tool: { name: rig.read.tool },
          decision: { policyVersion: expect.any(String), rule: expect.any(String), limits: expect.any(Object) },
        },
      });
    });

    it('result: a write is confirmed by evidence, and happened once', async () => {
      const view = await carryOut(rig.write('written'));
      expect(view).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
      expect(view.result?.evidence?.length).toBeGreaterThan(0);
      expect(rig.happened('written')).toBe(1);
    });

    it('idempotency: the same request is the same call, however often it comes', async () => {
      const requestKey = uuidv7();
      const action = rig.write('same');
      const views = await Promise.all([1, 2, 3].map(() => propose(action, { requestKey })));
      expect(new Set(views.map(({ callId }) => callId)).size).toBe(1);
      await settle(views[0] as CallView);
      await propose(action, { requestKey });
      expect(rig.happened('same')).toBe(1);
      const other = await propose(rig.write('other'), { requestKey });
      expect(other).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });
      expect(rig.happened('other')).toBe(0);
    });

    it('limits: what is too much to say is cut, and the cut is stated', async () => {
      if (rig.loud === undefined) return expect(rig.loud, 'it has nothing to say that is too long').toBeUndefined();
      const { result } = await carryOut(rig.loud);
      const bytes = Buffer.byteLength(JSON.stringify([result?.data, result?.content]));
      expect(bytes).toBeLessThanOrEqual((result?.decision?.limits.outputBytes ?? 0) + 1_024);
      expect(result?.truncation?.length).toBeGreaterThan(0);
      for (const { kept, total } of result?.truncation ?? []) expect(kept).toBeLessThan(total);
    });

    it('cancel: reaches the outside thing, and the end is never told as an error where the effect may have happened', async () => {
      const begun = await propose(await rig.slowWrite('cancelled'));
      if (begun.state === 'awaiting_approval') await cluster.grant(begun.callId);
      await waitFor(() => rig.begun('cancelled'), { timeoutMs: 20_000, what: 'the effect to begin' });
      await client.cancelCall(begun.callId);
      const view = await settle({ ...begun, state: 'queued' });
      await waitFor(() => rig.hasStopped('cancelled'), { timeoutMs: 15_000, what: 'nothing of it to go on' });
      await rig.calm();
      expect(rig.happened('cancelled')).toBe(1);
      expect(view.result?.sideEffect).not.toBe('none');
    });

    it('deadline: a call that ran out of time after its effect began does not say that nothing happened', async () => {
      const begun = await propose(await rig.slowWrite('late'), { deadlineMs: 2_500 });
      if (begun.state === 'awaiting_approval') await cluster.grant(begun.callId);
      const view = await settle({ ...begun, state: 'queued' });
      await waitFor(() => rig.hasStopped('late'), { timeoutMs: 15_000, what: 'nothing of it to go on' });
      await rig.calm();
      if (rig.happened('late') > 0) expect(view.result?.sideEffect).not.toBe('none');
      expect(rig.happened('late')).toBeLessThanOrEqual(1);
    });

    /** One write whose worker is killed as soon as it has handled something. */
    const loseReceipt = async (identity: string): Promise<CallView> => {
      const armed = await cluster.arm(adapter.worker, adapter.loseReceipt);
      const begun = await propose(rig.write(identity));
      if (begun.state === 'awaiting_approval') await cluster.grant(begun.callId);
      await armed.exited;
      await cluster.ensure(adapter.worker);
      return settle({ ...begun, state: 'queued' });
    };

    it('unknown: a receipt that is lost with the worker is never an error, and nothing runs again blindly', async () => {
      // A question about an earlier write may be what the worker handled first; then nothing may have happened yet.
      for (const identity of ['lost', 'lost-2', 'lost-3', 'lost-4']) {
        const view = await loseReceipt(identity);
        expect(['ok', 'unknown']).toContain(view.state);
        expect(rig.happened(identity)).toBeLessThanOrEqual(1);
        if (rig.happened(identity) === 1) return;
      }
      expect.unreachable('no receipt was lost');
    }, 120_000);

    it('redaction: a secret comes out as a mark, and stands in no record and no log', async () => {
      const view = await carryOut(await rig.echo(`token ${CANARY} end`));
      expect(view.state).toBe('ok');
      const told = JSON.stringify(view);
      expect(told).not.toContain(CANARY);
      expect(told).toContain('[redacted:');
      const logs = [...cluster.services].flatMap(({ log }) => log).join('\n');
      expect(logs).not.toContain(CANARY);
    });

    it('trace: the call can be looked up with its decision, its attempts and its end', async () => {
      const { callId } = await carryOut(rig.read);
      const trace = await waitFor(
        async () => {
          const found = await client.getTrace(callId).catch(() => undefined);
          // What may be lost comes in bundles of its own, a moment before or after the end.
          const isWhole = found?.call?.state === 'ok' && found.events.some(({ type }) => type === 'call.accepted');
          return isWhole ? found : undefined;
        },
        { timeoutMs: 30_000, what: 'the trace to be stored' },
      );
      expect(trace.call).toMatchObject({ callId, tool: rig.read.tool, state: 'ok' });
      expect(trace.events.map(({ type }) => type)).toEqual(expect.arrayContaining(['call.accepted', 'call.settled']));
    });

    it.each(FORGERIES)('no side road: a message %s runs nothing', async (what, sign) => {
      await cluster.ensure(adapter.worker);
      const real = await carryOut(rig.write(`template ${what}`));
      const template = await cluster.call(real.callId);
      if (template === undefined) throw new Error('the template has no record');
      const identity = `forged ${what}`;
      const { args } = rig.write(identity);
      const subject = workSubject(adapter.kind, 'hi', ADA.tenant);
      const callId = callIdFor(ADA, uuidv7(), Date.now());
      const { tool, handler, effect, claim, rerunnable, decision, actor, taskId, workspace, argsHash } = template;
      const { tenant } = ADA;
      const head = { subject, kind: adapter.kind, tenant, callId, epoch: 1, mode: 'run', actor, taskId, tool } as const;
      const body: WorkBody = {
        ...head,
        ...{ handler, effect, claim, rerunnable, args: { ...args }, argsHash, decision },
        ...(workspace === undefined ? {} : { workspace }),
        deadline: Date.now() + 60_000,
        expires: Date.now() + 60_000,
      };
      const text = JSON.stringify(sign(JSON.stringify(body), cluster.nats.signing));
      const { sequence } = await cluster.ledger.work.publish(
        adapter.kind,
        subject,
        `forged-${callId}`,
        Buffer.from(text),
      );
      await waitFor(async () => !(await cluster.ledger.work.has(adapter.kind, sequence)), {
        timeoutMs: 15_000,
        what: 'the message to be taken away',
      });
      expect(rig.happened(identity)).toBe(0);
      expect(rig.happened(identity.replace('forged', 'other-'))).toBe(0);
      expect(await cluster.claim(adapter.kind, callId)).toBeUndefined();
    });
  });
};
