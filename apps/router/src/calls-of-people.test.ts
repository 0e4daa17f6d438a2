import type { LedgerBus } from '@toolfabric/bus-nats';
import { contractDigests } from '@toolfabric/catalogue';
import {
  type ApprovalRecord,
  type CallView,
  isLastAnswer,
  type Outcome,
  type RegistryRecord,
  type ToolContract,
} from '@toolfabric/contract';
import { createVerifier, PACES, silentLogger, systemClock, uuidv7 } from '@toolfabric/kernel';
import { approvalKey, callKey, changeRecord, claimKey, openKey, toolKey } from '@toolfabric/ledger';
import type { RunningService } from '@toolfabric/service-host';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { type AnyTool, defineTool, type RunningWorker, runWorker } from '@toolfabric/worker-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Front } from './testing/front.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';
import { startRouter } from './testing/start-router.ts';

const CONTRACTS: readonly [ToolContract, RegistryRecord['state']][] = [
  [sampleContract(), 'published'],
  [sampleContract({ version: '0.9.0' }), 'retired'],
  [sampleContract({ name: 'notes.old' }), 'retired'],
  [sampleContract({ name: 'notes.draft' }), 'draft'],
  [sampleContract({ name: 'notes.elsewhere', execution: { pools: ['web'] } }), 'published'],
  [sampleContract({ name: 'notes.wipe', governance: { risk: 'privileged', claimless: false } }), 'published'],
  [sampleContract({ name: 'notes.send', governance: { risk: 'external_write', claimless: false } }), 'published'],
];

let nats: TestNats;
let bus: LedgerBus;
let router: RunningService;
let worker: RunningWorker;
let front: Front;
let taskId: string;
/** Ids of the calls that really ran, in order. */
const ran: string[] = [];

const noting = (handler: string, effect: 'none' | 'outside', sideEffect: Outcome['sideEffect']): AnyTool =>
  defineTool({
    handler,
    effect,
    args: z.looseObject({}),
    handle: async (ctx) => {
      if (sideEffect !== 'none') await ctx.beginEffect({});
      ran.push(ctx.callId);
      return { status: 'ok', summary: 'found', sideEffect, trust: 'trusted' };
    },
  });

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  for (const [contract, state] of CONTRACTS)
    await bus.registry.create(toolKey(contract.name, contract.version), {
      contract,
      state,
      ...contractDigests(contract),
    });
  worker = await runWorker({
    kind: 'cli',
    ports: await nats.connectAsWorker('cli'),
    tools: [noting('notes.find', 'none', 'none'), noting('notes.send', 'outside', 'confirmed')],
    verifier: createVerifier(nats.signing.publicKeys),
    pace: PACES.test,
    slots: 8,
    isolation: ['process', 'namespace'],
    log: silentLogger,
  });
  router = await startRouter(nats);
  const gateway = await nats.connectAsGateway();
  front = new Front((verb, body) => gateway.request(verb as 'call', body, 20_000));
});
afterAll(async () => {
  await router.stop();
  await worker.stop();
  await nats.stop();
});
beforeEach(async () => {
  taskId = await front.task();
});

const ended = (callId: string): Promise<CallView> =>
  waitFor(async () => {
    const view = await front.ask('getCall', { actor: ADA, callId });
    return isLastAnswer(view) ? view : undefined;
  });
const timesRun = (callId: string) => ran.filter((id) => id === callId).length;
const call = (changes: Partial<Parameters<Front['call']>[0]> = {}) => front.call({ taskId, ...changes });

const CHANGED = { state: 'denied', result: { status: 'denied', error: { type: 'approval_changed' } } };

describe('a call that needs a person', () => {
  const send = (changes: Partial<Parameters<Front['call']>[0]> = {}) => call({ tool: 'notes.send', ...changes });
  const approvalOf = async (callId: string) => {
    const record = await bus.calls.get(callKey('acme', callId));
    return approvalKey('acme', record?.value.approvalId ?? '');
  };
  /** As if a person had said so, or the record had been tampered with. */
  const decide = async (callId: string, changes: Partial<ApprovalRecord>) =>
    changeRecord(bus.approvals, await approvalOf(callId), (found) => found && { ...found, ...changes }, {
      clock: systemClock,
    });

  it('waits, and holds nothing (L5)', async () => {
    const requestKey = uuidv7();
    const view = await send({ requestKey });
    expect(view).toMatchObject({
      state: 'awaiting_approval',
      result: { status: 'needs_approval', sideEffect: 'none' },
    });
    expect(await send({ requestKey })).toEqual(view);
    expect(await bus.claims('cli').get(claimKey('cli', 'acme', view.callId))).toBeUndefined();
    expect((await bus.approvals.get(await approvalOf(view.callId)))?.value).toMatchObject({
      state: 'pending',
      callId: view.callId,
      actor: ADA,
    });
    expect(timesRun(view.callId)).toBe(0);
  });

  it('PO-4: runs once after a yes, which is then used up', async () => {
    const { callId } = await send();
    await decide(callId, { state: 'granted' });
    expect(await ended(callId)).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
    expect((await bus.approvals.get(await approvalOf(callId)))?.value.state).toBe('consumed');
    expect(timesRun(callId)).toBe(1);
  });

  it.each<[string, Partial<ApprovalRecord>, object]>([
    [
      'a no',
      { state: 'denied' },
      { state: 'denied', result: { status: 'denied', error: { type: 'approval_denied' } } },
    ],
    ['nobody in time', { expiresAt: 1 }, { state: 'error', result: { error: { type: 'approval_expired' } } }],
    ['a yes that came too late', { state: 'granted', expiresAt: 1 }, { state: 'error' }],
    ['a yes to other arguments', { state: 'granted', argsHash: 'other' }, CHANGED],
    ['a yes under another policy', { state: 'granted', policyVersion: 'other' }, CHANGED],
    ['a yes to another preview', { state: 'granted', preview: 'nothing much' }, CHANGED],
    ['a yes that is bound to nothing', { state: 'granted', boundSha256: undefined as never }, CHANGED],
  ])('PO-4: never runs after %s', async (_what, decision, end) => {
    const { callId } = await send();
    await decide(callId, decision);
    expect(await ended(callId)).toMatchObject(end);
    expect(await ended(callId)).toMatchObject({ result: { sideEffect: 'none', attempt: 0 } });
    expect(timesRun(callId)).toBe(0);
  });

  it('RE-4: is cancelled at once, and a yes afterwards runs nothing', async () => {
    const { callId } = await send();
    const cancelled = await front.ask('cancelCall', { actor: ADA, callId });
    expect(cancelled).toMatchObject({
      state: 'cancelled',
      result: { sideEffect: 'none', error: { type: 'cancelled' } },
    });
    await decide(callId, { state: 'granted' });
    expect(await front.ask('cancelCall', { actor: ADA, callId })).toEqual(cancelled);
    await waitFor(async () => (await bus.open.get(openKey('acme', callId))) === undefined);
    expect(timesRun(callId)).toBe(0);
  });
});
