import { loadBuiltinContracts, parseSearchSetup, searchContract } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';
import { factsOf, raiseByTaint } from '@toolfabric/governance';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, RouterWorld, type WorldTool } from './support/router-world.ts';

const SEARXNG = 'search.corp.example';
const builtin = loadBuiltinContracts().find(({ name }) => name === 'web.search') as ToolContract;
const SETUPS = {
  'web.search': [{ kind: 'searxng', base: `https://${SEARXNG}` }],
  'keyed.search': [{ kind: 'brave', credential: 'tenant:brave' }],
  'local.search': [{ kind: 'local' }],
};

/** As the command renders it for such providers, in the pool of this test. */
const searching = (name: string, providers: readonly object[]): WorldTool => {
  const { input, execution, governance } = searchContract(builtin, parseSearchSetup({ version: '1.1.0', providers }));
  const placed = { ...execution, adapter: 'cli', handler: name };
  return {
    contract: { name, input, execution: placed, governance: { ...governance, claimless: false } },
    effect: 'none',
    handle: async () => ({ trust: 'untrusted', origin: 'folder:acme' }),
  };
};
const FETCH: WorldTool = {
  contract: { name: 'notes.fetch' },
  effect: 'none',
  handle: async () => ({ trust: 'untrusted', origin: 'web:https://page.example' }),
};

let world: RouterWorld;
beforeAll(async () => {
  const tools = Object.entries(SETUPS).map(([name, providers]) => searching(name, providers));
  world = await RouterWorld.start({ tools: [FETCH, ...tools], goesOut: true });
});
afterAll(() => world.stop());

const actor = (user: string) => ({ ...ADA, user });
const taskOf = (user: string, constraints: object = {}) => world.task({ actor: actor(user), constraints });
const search = async (user: string, taskId: string, tool = 'web.search') => {
  const view = await world.front.call({ actor: actor(user), taskId, tool, args: { query: 'the words of a task' } });
  const refused = view.result?.error?.type;
  if (refused !== undefined) return { state: refused, callId: view.callId };
  const call = await world.front.ask('getCall', { actor: actor(user), callId: view.callId });
  return { state: view.state, callId: view.callId, decision: call.result?.decision };
};
const read = async (user: string, taskId: string) => {
  const { callId } = await world.front.call({ actor: actor(user), taskId, tool: 'notes.fetch' });
  expect((await world.ended(callId, actor(user))).state).toBe('ok');
};

describe('RS-6: the words of a search, by the contract of an installation', () => {
  it('go to a provider without a question before anything was read, and ask a person afterwards', async () => {
    const taskId = await taskOf('bo');
    expect((await search('bo', taskId)).state).toBe('queued');
    await read('bo', taskId);
    expect(await search('bo', taskId)).toMatchObject({
      state: 'awaiting_approval',
      decision: { risk: 'external_write', raisedBy: ['taint_sends_elsewhere'] },
    });
  });

  it('with the key of the tenant ask a person for that too', () => {
    const contract = searchContract(builtin, parseSearchSetup({ version: '1.1.0', providers: SETUPS['keyed.search'] }));
    const facts = factsOf({
      contract,
      args: { query: 'x' },
      actor: ADA,
      task: { taskId: 't' },
      environment: 'production',
    });
    const taint = [{ origin: 'web:https://page.example', callId: 'c', at: 1 }];
    expect(facts).toMatchObject({ risk: 'read', hosts: ['api.search.brave.com'], credential: 'tenant' });
    expect(raiseByTaint({ ...facts, taint }, contract)).toMatchObject({
      risk: 'external_write',
      raisedBy: ['taint_sends_elsewhere', 'taint_uses_credential'],
    });
  });

  it('stay inside with the folder alone: nobody is asked', async () => {
    const taskId = await taskOf('di');
    await read('di', taskId);
    const { callId } = await search('di', taskId, 'local.search');
    expect((await world.ended(callId, actor('di'))).state).toBe('ok');
    expect((await search('di', taskId)).state).toBe('awaiting_approval');
  });

  it('do not go to a provider that the task forbids', async () => {
    const taskId = await taskOf('ed', { forbiddenHosts: ['*.corp.example'] });
    expect((await search('ed', taskId)).state).toBe('constraint_violated');
  });
});
