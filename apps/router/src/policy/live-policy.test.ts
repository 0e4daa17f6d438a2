import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { LedgerBus } from '@toolfabric/bus-nats';
import { contractDigests } from '@toolfabric/catalogue';
import { type CallView, isLastAnswer, type ToolContract } from '@toolfabric/contract';
import { createVerifier, PACES, silentLogger } from '@toolfabric/kernel';
import { callKey, toolKey } from '@toolfabric/ledger';
import type { RunningService } from '@toolfabric/service-host';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { defineTool, type RunningWorker, runWorker } from '@toolfabric/worker-runtime';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Front } from '../testing/front.ts';
import { ADA } from '../testing/sample-call.ts';
import { sampleContract } from '../testing/sample-contract.ts';
import { startRouter } from '../testing/start-router.ts';

const folder = mkdtempSync(join(tmpdir(), 'policies-'));
const CONTRACTS: readonly ToolContract[] = [
  sampleContract(),
  sampleContract({ name: 'notes.keep', governance: { risk: 'workspace_write', claimless: false } }),
  sampleContract({ name: 'notes.hold', governance: { risk: 'workspace_write', claimless: false } }),
];

let nats: TestNats;
let bus: LedgerBus;
let router: RunningService;
let worker: RunningWorker;
let front: Front;
let taskId: string;
const ran: string[] = [];
let letGo: () => void = () => {};

const tool = (handler: string, effect: 'none' | 'workspace') =>
  defineTool({
    handler,
    effect,
    args: z.looseObject({}),
    handle: async (ctx) => {
      ran.push(ctx.callId);
      if (handler === 'notes.hold') await new Promise<void>((resolve) => (letGo = resolve));
      return { status: 'ok', summary: 'done', sideEffect: 'none', trust: 'trusted' };
    },
  });

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const clear = () => {
  for (const name of ['tenants', 'shadow', 'default.cedar'])
    rmSync(join(folder, name), { recursive: true, force: true });
};

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  for (const contract of CONTRACTS)
    await bus.registry.create(toolKey(contract.name, contract.version), {
      contract,
      state: 'published',
      ...contractDigests(contract),
    });
  worker = await runWorker({
    kind: 'cli',
    ports: await nats.connectAsWorker('cli'),
    tools: [tool('notes.find', 'none'), tool('notes.keep', 'workspace'), tool('notes.hold', 'workspace')],
    verifier: createVerifier(nats.signing.publicKeys),
    pace: PACES.test,
    slots: 1,
    isolation: ['process', 'namespace'],
    log: silentLogger,
  });
  router = await startRouter(nats, folder);
  const gateway = await nats.connectAsGateway();
  front = new Front((verb, body) => gateway.request(verb as 'call', body, 20_000));
  taskId = await front.task();
});
afterEach(clear);
afterAll(async () => {
  await router.stop();
  await worker.stop();
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ended = (callId: string): Promise<CallView> =>
  waitFor(async () => {
    const view = await front.ask('getCall', { actor: ADA, callId });
    return isLastAnswer(view) ? view : undefined;
  });
const call = (name: string) => front.call({ taskId, tool: name });
const FORBID_KEEP = '@id("no_keeping")\nforbid (principal, action == Action::"notes.keep", resource);\n';

/** Asks until the policy in the folder holds, or no longer does. */
const until = (name: string, state: 'refused' | 'ok') =>
  waitFor(async () => {
    const view = await call(name);
    if (view.state === 'refused') return state === 'refused' ? view : undefined;
    const end = await ended(view.callId);
    return state === 'ok' && end.state === 'ok' ? end : undefined;
  });

describe('policies in a folder', () => {
  it('PO-1: hold within seconds of being written, by the name of the rule, and no longer when they are gone', async () => {
    expect((await until('notes.keep', 'ok')).result?.decision?.rule).toBe('default.allow.workspace_write');
    write('tenants/acme/notes.cedar', FORBID_KEEP);
    const view = await until('notes.keep', 'refused');
    expect(view.result).toMatchObject({ status: 'denied', error: { type: 'denied_by_policy', layer: 'policy' } });
    expect(view.result?.summary).toContain('tenant.acme.no_keeping');
    clear();
    await until('notes.keep', 'ok');
  });

  it('PO-6: that do not pass the check are not used: those before them hold on', async () => {
    write('tenants/acme/notes.cedar', FORBID_KEEP);
    await until('notes.keep', 'refused');
    write('tenants/acme/notes.cedar', 'permit (principal, action, resource) when { context.nothing };');
    write('shadow/tenants/acme/notes.cedar', FORBID_KEEP);
    write('tenants/other/notes.cedar', 'forbid (principal, action, resource);');
    const mallory = { ...ADA, tenant: 'other' };
    await waitFor(async () => (await front.ask('listTools', { actor: mallory })).tools.length === 0);
    expect((await call('notes.keep')).state).toBe('refused');
  });

  it('RG-5: hide what no arguments could get through', async () => {
    const names = async () => (await front.ask('listTools', { actor: ADA })).tools.map(({ name }) => name);
    expect(await waitFor(async () => ((await names()).includes('notes.keep') ? names() : undefined))).toContain(
      'notes.keep',
    );
    write('tenants/acme/notes.cedar', FORBID_KEEP);
    await waitFor(async () => !(await names()).includes('notes.keep'));
    expect(await names()).toContain('notes.find');
  });

  it('PO-4: are asked again about what waits in a queue when they change', async () => {
    await until('notes.keep', 'ok');
    const { callId: held } = await call('notes.hold');
    await waitFor(() => ran.includes(held));
    const [kept, found] = [await call('notes.keep'), await call('notes.find')];
    expect([kept.state, found.state]).toEqual(['queued', 'queued']);
    const before = (await bus.calls.get(callKey('acme', found.callId)))?.value;
    write('tenants/acme/notes.cedar', FORBID_KEEP);
    expect(await ended(kept.callId)).toMatchObject({
      state: 'denied',
      result: { status: 'denied', sideEffect: 'none', error: { type: 'denied_by_policy' } },
    });
    const after = await waitFor(async () => {
      const record = (await bus.calls.get(callKey('acme', found.callId)))?.value;
      return record?.decidedAgain ? record : undefined;
    });
    expect(after.watermark).toBeGreaterThan(before?.watermark ?? 0);
    expect(after.decision.policyVersion).not.toBe(before?.decision.policyVersion);
    letGo();
    expect(await ended(found.callId)).toMatchObject({ state: 'ok' });
    expect(await ended(held)).toMatchObject({ state: 'ok' });
    expect(ran).not.toContain(kept.callId);
    expect(ran.filter((id) => id === found.callId)).toHaveLength(1);
  });
});

describe('policies over `context.roles`', () => {
  const rule = (name: string) =>
    `@id("deployers")\nforbid (principal, action == Action::"${name}", resource)\nunless { context.roles.contains("deploy") };\n`;
  const as = (roles?: string[]) =>
    front.call({ taskId, tool: 'notes.keep', ...(roles === undefined ? {} : { roles }) });

  it('PO-1: decide by the rights of the credential that asks', async () => {
    await until('notes.keep', 'ok');
    write('tenants/acme/notes.cedar', rule('notes.keep'));
    expect((await until('notes.keep', 'refused')).result?.summary).toContain('tenant.acme.deployers');
    expect(await as(['approvals:decide'])).toMatchObject({ state: 'refused' });
    expect(await ended((await as(['approvals:decide', 'deploy'])).callId)).toMatchObject({ state: 'ok' });
  });

  it('PO-4: decide again by the rights that it was asked with', async () => {
    await until('notes.keep', 'ok');
    const { callId: held } = await call('notes.hold');
    await waitFor(() => ran.includes(held));
    const [without, having] = [await as(), await as(['deploy'])];
    expect([without.state, having.state]).toEqual(['queued', 'queued']);
    write('tenants/acme/notes.cedar', rule('notes.keep'));
    expect(await ended(without.callId)).toMatchObject({ result: { error: { type: 'denied_by_policy' } } });
    await waitFor(async () => (await bus.calls.get(callKey('acme', having.callId)))?.value.decidedAgain);
    letGo();
    expect(await ended(having.callId)).toMatchObject({ state: 'ok' });
    expect(ran).not.toContain(without.callId);
  });
});

describe('a policy that asks a person from now on', () => {
  it('PO-4: ends what waits in a queue with nothing done, and says to propose it again', async () => {
    await until('notes.keep', 'ok');
    const { callId: held } = await call('notes.hold');
    await waitFor(() => ran.includes(held));
    const { callId } = await call('notes.keep');
    write(
      'tenants/acme/notes.cedar',
      '@id("ask")\nforbid (principal, action == Action::"notes.keep", resource)\nwhen { context.approval == "none" };\n',
    );
    const { state, result } = await ended(callId);
    expect({ state, result }).toMatchObject({
      state: 'denied',
      result: { status: 'denied', sideEffect: 'none', error: { type: 'approval_changed', layer: 'policy' } },
    });
    expect(result?.error?.hint).toMatch(/^Propose the call again/);
    expect(result?.error?.message).toContain('a person must allow it now');
    letGo();
    await ended(held);
    expect(ran).not.toContain(callId);
    expect(await call('notes.keep')).toMatchObject({ state: 'awaiting_approval' });
  });
});

describe('a router', () => {
  it('PO-6: does not start without the rules that hold for everybody', async () => {
    write('default.cedar', 'permit (principal, action, resource) when { context.nothing };');
    await expect(startRouter(nats, folder)).rejects.toThrow('default.cedar:1');
    await expect(startRouter(nats, join(folder, 'missing'))).rejects.toThrow();
  });
});
