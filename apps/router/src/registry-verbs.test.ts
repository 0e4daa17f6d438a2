import type { LedgerBus } from '@toolfabric/bus-nats';
import type { LifeCycle } from '@toolfabric/contract';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { Front } from './testing/front.ts';
import { openServices } from './testing/open-services.ts';
import { ADA } from './testing/sample-call.ts';
import { type SampleChanges, sampleContract } from './testing/sample-contract.ts';
import { samplePolicy } from './testing/sample-policy.ts';

let nats: TestNats;
let bus: LedgerBus;
let services: RouterServices;
let front: Front;
let count = 0;
/** A name that no test used before. */
let name = '';

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  services = openServices({ bus, signing: nats.signing });
  front = new Front((verb, body) => serveVerb(services, verb, body));
});
afterAll(() => nats.stop());
beforeEach(() => {
  count += 1;
  name = `notes.find_${count}`;
});

const rights = ['registry:publish'];
const put = (changes: SampleChanges = {}, held = rights) =>
  front.ask('putDraft', { actor: ADA, rights: held, contract: sampleContract({ name, ...changes }) as never });
const move = (to: 'published' | 'deprecated' | 'retired', version = '1.0.0', held = rights) =>
  front.ask('moveTool', { actor: ADA, rights: held, name, version, to });
const list = (allStates = false, actor = ADA) => front.ask('listTools', { actor, allStates });
const listed = async (allStates = false): Promise<string[]> =>
  (await list(allStates)).tools.filter((tool) => tool.name === name).map(({ version, state }) => `${version} ${state}`);

describe('the life of a contract', () => {
  it('RG-3: goes from draft to published, deprecated and retired, and is callable by name in between', async () => {
    expect(await put()).toMatchObject({ name, version: '1.0.0', state: 'draft', risk: 'read' });
    expect(await listed()).toEqual([]);
    await expect(front.ask('describeTool', { actor: ADA, tool: name })).rejects.toMatchObject({ type: 'unknown_tool' });
    const seen: [LifeCycle, string[]][] = [];
    for (const state of ['published', 'deprecated', 'retired'] as const) {
      expect(await move(state)).toMatchObject({ state });
      seen.push([state, await listed()]);
    }
    expect(seen).toEqual([
      ['published', ['1.0.0 published']],
      ['deprecated', ['1.0.0 deprecated']],
      ['retired', []],
    ]);
    expect(await listed(true)).toEqual(['1.0.0 retired']);
  });

  it('RG-3: moves once: the same move again is the same answer, and there is no way back', async () => {
    await put();
    const published = await move('published');
    expect(await move('published')).toEqual(published);
    await move('retired');
    for (const to of ['published', 'deprecated'] as const)
      await expect(move(to)).rejects.toMatchObject({ type: 'tool_retired' });
  });

  it('RG-3: does not leave out being published', async () => {
    await put();
    await expect(move('deprecated')).rejects.toMatchObject({ type: 'invalid_request' });
  });

  it('RG-3: keeps a published version as it is: a change needs another version', async () => {
    const changed = { description: 'Finds the notes of a workspace in quite another way than it did before.' };
    await put();
    expect(await put(changed)).toMatchObject({ state: 'draft', description: changed.description });
    await put();
    const published = await move('published');
    expect(await put()).toMatchObject({ state: 'published', digest: published.digest });
    await expect(put(changed)).rejects.toMatchObject({ type: 'incompatible_change' });
    await put({ ...changed, version: '1.0.1' });
    await move('published', '1.0.1');
    expect(await listed()).toEqual(['1.0.1 published']);
    expect(await listed(true)).toEqual(['1.0.0 published', '1.0.1 published']);
  });

  it('RG-1: is told what is wrong with a contract that cannot be one', async () => {
    const { governance: _left, ...rest } = sampleContract({ name });
    await expect(front.ask('putDraft', { actor: ADA, rights, contract: rest as never })).rejects.toMatchObject({
      type: 'contract_invalid',
      message: expect.stringContaining('governance'),
    });
    await put({ governance: { risk: 'irreversible', claimless: false, idempotent: false } });
    await expect(move('published')).rejects.toMatchObject({ type: 'contract_invalid' });
    expect(await listed(true)).toEqual(['1.0.0 draft']);
  });

  it.each([
    ['none', []],
    ['another right', ['registry:read']],
    ['one that only looks like it', ['REGISTRY:PUBLISH', 'registry:publish ']],
  ])('PO-10: needs the right to it: not %s', async (_what, held) => {
    await expect(put({}, held)).rejects.toMatchObject({ type: 'forbidden' });
    await put();
    await expect(move('published', '1.0.0', held)).rejects.toMatchObject({ type: 'forbidden' });
    expect(await listed(true)).toEqual(['1.0.0 draft']);
  });

  it('that nobody wrote cannot be moved', async () => {
    await expect(move('published')).rejects.toMatchObject({ type: 'unknown_version' });
  });
});

describe('a listing', () => {
  it('RG-5: shows what this actor could ever call, and no tool of the fabric itself', async () => {
    const privileged = { risk: 'privileged', claimless: false, operation_key: '{/text}', reconcile: { by: 'probe' } };
    await put({ governance: privileged });
    await move('published');
    expect(await listed()).toEqual([]);
    await expect(front.ask('describeTool', { actor: ADA, tool: name })).rejects.toMatchObject({ type: 'unknown_tool' });
    const open = {
      ...services,
      policy: samplePolicy({ acme: 'permit (principal, action in Action::"privileged", resource);' }),
    };
    const asked = new Front((verb, body) => serveVerb(open, verb, body));
    const { tools } = await asked.ask('listTools', { actor: ADA });
    expect(tools.map((tool) => tool.name)).toContain(name);
    expect(tools.find((tool) => tool.name === name)).not.toHaveProperty('denied');
  });

  it('RG-5: marks what can never be called as denied, for a tenant that wants to see it', async () => {
    const privileged = { risk: 'privileged', claimless: false, operation_key: '{/text}', reconcile: { by: 'probe' } };
    await put({ governance: privileged });
    await move('published');
    const shown = { ...services, policy: { ...samplePolicy(), showsDenied: (tenant: string) => tenant === 'acme' } };
    const ask = new Front((verb, body) => serveVerb(shown, verb, body));
    const { tools } = await ask.ask('listTools', { actor: ADA });
    expect(tools.find((tool) => tool.name === name)).toMatchObject({ denied: true });
    const other = await ask.ask('listTools', { actor: { ...ADA, tenant: 'other' } });
    expect(other.tools.map((tool) => tool.name)).not.toContain(name);
  });

  it('FD-1: shows a model nothing of how a tool is run', async () => {
    await put();
    const { modelDigest } = await move('published');
    const { model, summary } = await front.ask('describeTool', { actor: ADA, tool: name });
    expect(Object.keys(model).sort()).toEqual(['capability', 'input', 'name', 'output', 'version']);
    expect(JSON.stringify(model)).not.toMatch(/handler|timeout|isolation|claimless/);
    expect(summary.modelDigest).toBe(modelDigest);
    const swapped = await put({ version: '1.0.1', execution: { handler: 'notes.find_by_index' } });
    expect(swapped.digest).not.toBe(summary.digest);
    await move('published', '1.0.1');
    expect((await front.ask('describeTool', { actor: ADA, tool: name })).model).toEqual({ ...model, version: '1.0.1' });
  });

  it('comes in pages, each tool once, in order', async () => {
    const names = Array.from({ length: 120 }, (_, n) => `pages.tool_${String(n).padStart(3, '0')}`);
    const description = `Finds pages. ${'x'.repeat(900)}`;
    await services.registry.seed(names.map((tool) => sampleContract({ name: tool, description })));
    await services.registry.refresh();
    const found: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await front.ask('listTools', { actor: ADA, ...(after === undefined ? {} : { after }) });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(64 * 1024 + 50_000);
      found.push(...page.tools.map((tool) => tool.name));
      after = page.next;
      pages += 1;
    } while (after !== undefined && pages < 50);
    expect(pages).toBeGreaterThan(2);
    expect(found.filter((tool) => tool.startsWith('pages.'))).toEqual(names);
    expect(new Set(found).size).toBe(found.length);
  });
});
