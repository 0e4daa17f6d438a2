import type { LedgerBus } from '@toolfabric/bus-nats';
import { contractDigests } from '@toolfabric/catalogue';
import {
  type CallView,
  isLastAnswer,
  MAX_ARGUMENT_BYTES,
  type Outcome,
  type RegistryRecord,
  type ToolContract,
} from '@toolfabric/contract';
import { callIdFor, createVerifier, PACES, silentLogger, uuidv7 } from '@toolfabric/kernel';
import { callKey, openKey, toolKey } from '@toolfabric/ledger';
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

describe('a call', () => {
  it('is accepted under an id that follows from its key, runs, and can be asked for', async () => {
    const requestKey = uuidv7();
    const view = await call({ requestKey });
    expect(view).toMatchObject({ callId: callIdFor(ADA, requestKey, Date.now()), taskId, state: 'queued' });
    expect(view).not.toHaveProperty('result');
    expect(await ended(view.callId)).toMatchObject({
      state: 'ok',
      tool: { name: 'notes.find', version: '1.0.0' },
      result: { status: 'ok', attempt: 1, decision: { rule: 'default.allow.read' } },
    });
    expect(timesRun(view.callId)).toBe(1);
  });

  it('RE-3: leaves no open entry and no arguments behind', async () => {
    const { callId } = await call();
    await ended(callId);
    await waitFor(async () => (await bus.open.get(openKey('acme', callId))) === undefined);
    const record = await bus.calls.get(callKey('acme', callId));
    expect(record?.value.args).toEqual({});
  });

  it('RS-4: is of nobody else: not to be read, cancelled or run in their task', async () => {
    const { callId } = await call();
    for (const actor of [
      { ...ADA, user: 'bob' },
      { ...ADA, agent: 'reviewer' },
      { ...ADA, tenant: 'rival' },
    ]) {
      await expect(front.ask('getCall', { actor, callId })).rejects.toMatchObject({ type: 'not_found' });
      await expect(front.ask('cancelCall', { actor, callId })).rejects.toMatchObject({ type: 'not_found' });
      expect(await call({ actor })).toMatchObject({ state: 'refused', result: { error: { type: 'not_found' } } });
    }
    expect(await ended(callId)).toMatchObject({ state: 'ok' });
  });
});

describe('a retry', () => {
  it('RE-1: finds its call, and runs nothing again', async () => {
    const requestKey = uuidv7();
    const views = await Promise.all(Array.from({ length: 5 }, () => call({ requestKey })));
    const ids = new Set(views.map(({ callId }) => callId));
    expect(ids.size).toBe(1);
    const [callId = ''] = ids;
    const answer = await ended(callId);
    expect(await call({ requestKey })).toEqual(answer);
    expect(timesRun(callId)).toBe(1);
  });

  it('RE-1: is the same whatever the order of its arguments', async () => {
    const requestKey = uuidv7();
    const first = await call({ requestKey, args: { text: 'a', most: 3 } });
    await ended(first.callId);
    expect(await call({ requestKey, args: { most: 3, text: 'a' } })).toMatchObject({
      callId: first.callId,
      state: 'ok',
    });
  });

  it('RE-1: after its task ended still gets its call', async () => {
    const requestKey = uuidv7();
    const { callId } = await call({ requestKey });
    const answer = await ended(callId);
    await front.ask('endTask', { actor: ADA, taskId, outcome: 'succeeded' });
    expect(await call({ requestKey })).toEqual(answer);
    expect(await call()).toMatchObject({
      state: 'refused',
      result: { status: 'denied', error: { type: 'task_ended' } },
    });
  });

  it.each([
    ['other arguments', { args: { text: 'other' } }],
    ['arguments of the wrong shape', { args: { text: 1 } }],
    ['another tool', { tool: 'notes.send' }],
    ['a tool that nobody knows', { tool: 'notes.nothing' }],
  ])('RE-1: with %s is a conflict, while its task is open and afterwards', async (_what, changes) => {
    const requestKey = uuidv7();
    const { callId } = await call({ requestKey });
    await ended(callId);
    const conflict = { state: 'refused', result: { status: 'error', error: { type: 'conflict', retryable: false } } };
    expect(await call({ requestKey, ...changes })).toMatchObject(conflict);
    await front.ask('endTask', { actor: ADA, taskId, outcome: 'succeeded' });
    expect(await call({ requestKey, ...changes })).toMatchObject(conflict);
    expect(timesRun(callId)).toBe(1);
  });

  it('RE-1: in another task is a conflict', async () => {
    const requestKey = uuidv7();
    await ended((await call({ requestKey })).callId);
    const other = await front.task();
    expect(await call({ requestKey, taskId: other })).toMatchObject({ result: { error: { type: 'conflict' } } });
  });
});

describe('a call that is refused', () => {
  const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) });

  it.each<[string, Partial<Parameters<Front['call']>[0]>, object]>([
    ['an unknown tool', { tool: 'notes.fin' }, { type: 'unknown_tool', hint: expect.stringContaining('notes.find') }],
    ['a draft', { tool: 'notes.draft' }, { type: 'unknown_tool' }],
    ['a tool of the fabric itself', { tool: 'workspace.prepare', args: {} }, { type: 'unknown_tool' }],
    ['an unknown version', { tool: 'notes.find@9.9.9' }, { type: 'unknown_version' }],
    ['a retired version', { tool: 'notes.find@0.9.0' }, { type: 'tool_retired' }],
    ['a retired tool', { tool: 'notes.old' }, { type: 'tool_retired' }],
    ['no arguments', { args: {} }, { type: 'invalid_arguments', fields: [{ field: '/text' }] }],
    [
      'an unknown argument',
      { args: { text: 'a', more: 1 } },
      { type: 'invalid_arguments', fields: [{ field: '/more' }] },
    ],
    ['a list as arguments', { args: [1] }, { type: 'invalid_arguments', fields: [{ field: '', got: 'an array' }] }],
    ['null as arguments', { args: null }, { type: 'invalid_arguments' }],
    ['too much', { args: { text: 'x'.repeat(MAX_ARGUMENT_BYTES) } }, { type: 'too_large' }],
    ['too deep', { args: { text: 'a', more: nested(40) } as never }, { type: 'too_deep' }],
    ['what the policy denies', { tool: 'notes.wipe' }, { type: 'denied_by_policy', layer: 'policy' }],
    ['a pool that is not there', { tool: 'notes.elsewhere' }, { type: 'no_executor', retryable: true }],
    ['a task that does not exist', { taskId: `t-${'0'.repeat(26)}` }, { type: 'not_found' }],
    ['no UUIDv7', { requestKey: 'again' }, { type: 'request_key_out_of_range' }],
  ])('RT-8: %s: says what to do, and is recorded nowhere', async (_what, changes, error) => {
    const requestKey = changes.requestKey ?? uuidv7();
    const view = await call({ ...changes, requestKey });
    const denied = view.result?.error?.layer === 'policy';
    expect(view).toMatchObject({
      state: 'refused',
      result: { status: denied ? 'denied' : 'error', sideEffect: 'none', attempt: 0, error },
    });
    expect(view.result?.error?.hint).toBeTruthy();
    if (view.callId !== '') expect(await bus.calls.get(callKey('acme', view.callId))).toBeUndefined();
  });

  it('RT-4: can be mended and sent again under the same key', async () => {
    const requestKey = uuidv7();
    expect(await call({ requestKey, args: {} })).toMatchObject({ state: 'refused' });
    const { callId } = await call({ requestKey });
    expect(await ended(callId)).toMatchObject({ state: 'ok' });
  });
});
