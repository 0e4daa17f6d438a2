import type { LedgerBus } from '@toolfabric/bus-nats';
import { ERROR_TABLE, RPC, RpcFailure, type ToolError } from '@toolfabric/contract';
import { type Logger, silentLogger, systemClock, uuidv7 } from '@toolfabric/kernel';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Registry } from './registry.ts';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { openServices } from './testing/open-services.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

let nats: TestNats;
let bus: LedgerBus;
let services: RouterServices;
const logged: string[] = [];
const log: Logger = { ...silentLogger, error: (event, fields) => logged.push(JSON.stringify([event, fields])) };

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  services = openServices({ bus, signing: nats.signing, log });
});
afterAll(() => nats.stop());

const errorOf = (answer: string): ToolError => RpcFailure.parse(JSON.parse(answer)).error;
const serve = (verb: string, body: unknown) =>
  serveVerb(services, verb, typeof body === 'string' ? body : JSON.stringify(body));
const TASK = `t-${'0'.repeat(26)}`;
const CALL = { actor: ADA, taskId: TASK, requestKey: uuidv7(), tool: 'notes.find', args: {} };

describe('a request that is no request', () => {
  it.each(['', '{', '{"actor":', 'nonsense', '\u0000', '{"a":1}}'])('RT-8: is no JSON: %j', async (body) => {
    for (const verb of Object.keys(RPC))
      expect(errorOf(await serve(verb, body))).toMatchObject({ type: 'invalid_request', layer: 'protocol' });
  });

  it.each(['nope', '', 'CALL', 'call ', '__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'RT-8: names no verb: %j',
    async (verb) => {
      expect(errorOf(await serve(verb, CALL))).toMatchObject({ type: 'invalid_request', retryable: false });
    },
  );

  it.each(['null', '[]', '1', '"text"', 'true', '{}'])('RT-4: has another shape: %s', async (body) => {
    for (const verb of Object.keys(RPC)) {
      const error = errorOf(await serve(verb, body));
      expect(error).toMatchObject({ type: 'invalid_request' });
      expect(error.fields?.length).toBeGreaterThan(0);
    }
  });

  it.each<[string, string, object, string]>([
    ['call', 'a field of nobody', { ...CALL, more: 1 }, '/'],
    ['call', 'no actor', { ...CALL, actor: undefined }, '/actor'],
    ['call', 'a tenant that is no token', { ...CALL, actor: { ...ADA, tenant: 'acme.*' } }, '/actor/tenant'],
    ['call', 'a user without a name', { ...CALL, actor: { ...ADA, user: '' } }, '/actor/user'],
    ['call', 'a deadline of the wrong type', { ...CALL, deadlineMs: '5' }, '/deadlineMs'],
    ['call', 'a deadline that is none', { ...CALL, deadlineMs: 0 }, '/deadlineMs'],
    ['call', 'a priority of its own', { ...CALL, priority: 'now' }, '/priority'],
    ['getCall', 'an id that is too long', { actor: ADA, callId: 'x'.repeat(81) }, '/callId'],
    ['createTask', 'a title that is too long', { actor: ADA, requestKey: 'k', title: 'x'.repeat(501) }, '/title'],
    [
      'createTask',
      'a workspace of no kind',
      { actor: ADA, requestKey: 'k', title: 't', workspace: { type: 'magic' } },
      '/workspace/type',
    ],
    ['endTask', 'an outcome of its own', { actor: ADA, taskId: TASK, outcome: 'fine' }, '/outcome'],
    [
      'moveTool',
      'a state that nobody moves to',
      { actor: ADA, rights: [], name: 'a.b', version: '1.0.0', to: 'draft' },
      '/to',
    ],
  ])('RT-4: %s, %s: names the field', async (verb, _what, body, field) => {
    const error = errorOf(await serve(verb, body));
    expect(error.type).toBe('invalid_request');
    expect(error.fields?.map((found) => found.field)).toContain(field);
  });

  it('RT-4: with many faults names twenty of them', async () => {
    const rights = Array.from({ length: 100 }, (_, n) => n);
    const error = errorOf(await serve('putDraft', { actor: ADA, rights, contract: {} }));
    expect(error.fields).toHaveLength(20);
  });
});

describe('a request that cannot be served', () => {
  it.each([
    ['getCall', { actor: ADA, callId: 'no-id' }],
    ['getCall', { actor: ADA, callId: `2969-${'a'.repeat(26)}` }],
    ['cancelCall', { actor: ADA, callId: '' }],
    ['getTask', { actor: ADA, taskId: '../t' }],
    ['getTask', { actor: ADA, taskId: TASK }],
    ['endTask', { actor: ADA, taskId: 't-*', outcome: 'failed' }],
  ])('RS-4: %s of what is not there: %j: not_found', async (verb, body) => {
    expect(errorOf(await serve(verb, body))).toMatchObject({ type: 'not_found', layer: 'protocol' });
  });

  it('while the bus does not answer is an outage: the same may be sent again', async () => {
    const closed = await nats.connectAsRouter();
    await closed.close();
    const cut = openServices({ bus: closed, signing: nats.signing, log });
    const before = logged.length;
    for (const [verb, body] of [
      ['getTask', { actor: ADA, taskId: TASK }],
      ['call', CALL],
    ] as const)
      expect(errorOf(await serveVerb(cut, verb, JSON.stringify(body)))).toMatchObject({
        type: 'unavailable',
        retryable: true,
        retryAfterMs: 500,
      });
    expect(logged).toHaveLength(before);
  });

  it.each([
    ['a number out of its range', () => new RangeError('secret of the inside')],
    // As `JSON.parse` throws over what is stored: nobody sent that.
    ['a text that it cannot parse', () => new SyntaxError('secret of the inside')],
  ])('by a fault of the router, %s, says so, without the words of the fault, and logs it', async (_, fault) => {
    logged.length = 0;
    const policy = {
      ...services.policy,
      couldAllow: () => {
        throw fault();
      },
    };
    const registry = new Registry(bus.registry, systemClock, log);
    await registry.seed([sampleContract()]);
    await registry.refresh();
    const answer = await serveVerb({ ...services, policy, registry }, 'listTools', JSON.stringify({ actor: ADA }));
    expect(errorOf(answer)).toMatchObject({ type: 'internal', hint: ERROR_TABLE.internal.hint });
    expect(answer).not.toContain('secret');
    expect(logged.at(-1)).toContain('verb.failed');
  });

  it('RT-8: with arguments that go very deep has an answer all the same', async () => {
    const args = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const error = errorOf(await serve('call', `${JSON.stringify(CALL).slice(0, -3)}${args}}`));
    expect(['too_deep', 'internal']).toContain(error.type);
  });
});
