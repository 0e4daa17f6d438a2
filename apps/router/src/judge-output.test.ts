import type { LedgerBus } from '@toolfabric/bus-nats';
import type { CallView, Claim, Outcome } from '@toolfabric/contract';
import { type ClaimMove, callKey, changeRecord, claimKey, lifeKey, moveClaim, toolKey } from '@toolfabric/ledger';
import type { Delivery, WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { settleDelivery, settleStored } from './settle-call.ts';
import { Front } from './testing/front.ts';
import { openServices } from './testing/open-services.ts';
import { sampleContract } from './testing/sample-contract.ts';

const CONTRACT = sampleContract({
  name: 'notes.add',
  governance: { risk: 'workspace_write', idempotent: false, claimless: false },
  output: {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['exit_code'],
      properties: { exit_code: { type: 'integer' } },
    },
    error_when: 'data.exit_code != `0`',
  },
});
const ISOLATION = ['process', 'namespace'];

let nats: TestNats;
let bus: LedgerBus;
let worker: WorkerPorts;
let services: RouterServices;
let front: Front;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  worker = await nats.connectAsWorker('cli');
  const life = { incarnation: 'cli-1', state: 'alive', beat: 1, slots: 1, isolation: ISOLATION } as const;
  await worker.lives.create(lifeKey('cli', 'cli-1'), { ...life, isolation: ISOLATION, handlers: ['notes.add'] });
});
afterAll(() => nats.stop());
beforeEach(async () => {
  services = openServices({ bus, signing: nats.signing });
  await services.registry.seed([CONTRACT]);
  await services.registry.refresh();
  front = new Front((verb, body) => serveVerb(services, verb, body));
});

const ADDED: Outcome = {
  status: 'ok',
  summary: 'added',
  data: { exit_code: 0 },
  sideEffect: 'confirmed',
  evidence: [{ kind: 'note', ref: '7' }],
  trust: 'trusted',
};

const move = async (callId: string, to: ClaimMove): Promise<Claim> => {
  const key = claimKey('cli', 'acme', callId);
  const change = await changeRecord(worker.claims, key, (claim) => moveClaim(claim, to), { clock: services.ctx.clock });
  if (!change.done) throw new Error(`${to.type} is not allowed`);
  return change.value;
};

/** A call whose worker has ended it so. */
const executed = async (outcome: Outcome): Promise<CallView> => {
  const view = await front.call({ taskId: await front.task(), tool: 'notes.add' });
  const { callId } = view;
  await move(callId, { type: 'take', epoch: 1, sequence: 1, incarnation: 'cli-1', nonce: 'n' });
  await move(callId, { type: 'start', nonce: 'n', intent: {} });
  await move(callId, { type: 'finish', nonce: 'n', outcome });
  await worker.results.createOnce('cli', { callId, tenant: 'acme', epoch: 1, outcome, by: 'cli-1' });
  return view;
};

const settleBy = async ({ ctx }: RouterServices, callId: string) => {
  const stored = await ctx.ports.calls.get(callKey('acme', callId));
  if (stored) await settleStored(ctx, stored);
  return (await ctx.ports.calls.get(callKey('acme', callId)))?.value;
};

/** The result message as the feed gives it. */
const deliver = async ({ ctx }: RouterServices, callId: string): Promise<string[]> => {
  const said: string[] = [];
  const result = await bus.results.get('cli', 'acme', callId, 1);
  const delivery: Delivery = {
    subject: `result.cli.acme.${callId}.1`,
    data: Buffer.from(JSON.stringify(result)),
    sequence: 1,
    deliveryCount: 1,
    ack: () => said.push('ack'),
    ackSync: async () => {},
    nak: () => said.push('nak'),
    working: () => {},
  };
  await settleDelivery(ctx, delivery);
  return said;
};

describe('RG-8: what a contract says about its outcomes', () => {
  it('holds at settlement: an ok that says it failed is an error with its effect, its data and its proof', async () => {
    const { callId } = await executed({ ...ADDED, data: { exit_code: 2 } });
    expect(await settleBy(services, callId)).toMatchObject({
      state: 'error',
      result: {
        status: 'error',
        error: { type: 'reported_failure' },
        data: { exit_code: 2 },
        sideEffect: 'confirmed',
        evidence: [{ ref: '7' }],
        attempt: 1,
      },
    });
    // The result that comes after it is the same end, not late evidence of another.
    expect(await deliver(services, callId)).toEqual(['ack']);
    expect((await bus.calls.get(callKey('acme', callId)))?.value.late).toBeUndefined();
  });

  it('an answer that does not fit the schema is output_invalid, and its effect stays confirmed', async () => {
    const { callId } = await executed({ ...ADDED, data: { exit_code: 'none' } });
    expect(await deliver(services, callId)).toEqual(['ack']);
    const { result, state } = (await bus.calls.get(callKey('acme', callId)))?.value ?? {};
    expect(state).toBe('error');
    expect(result).toMatchObject({ error: { type: 'output_invalid' }, sideEffect: 'confirmed' });
    expect(result).not.toHaveProperty('data');
  });

  it('an answer that fits is ok', async () => {
    const { callId } = await executed(ADDED);
    expect(await settleBy(services, callId)).toMatchObject({ state: 'ok', result: { data: { exit_code: 0 } } });
  });

  it('is the same for a router that has read no catalogue, and after the contract was retired', async () => {
    const { callId } = await executed({ ...ADDED, data: { exit_code: 2 } });
    const key = toolKey(CONTRACT.name, CONTRACT.version);
    const stored = await bus.registry.get(key);
    if (!stored) throw new Error('no contract');
    const revision = await bus.registry.update(key, { ...stored.value, state: 'retired' }, stored.revision);
    const fresh = openServices({ bus, signing: nats.signing });
    expect(await settleBy(fresh, callId)).toMatchObject({
      state: 'error',
      result: { error: { type: 'reported_failure' } },
    });
    await bus.registry.update(key, stored.value, revision);
  });

  it('without the contract nothing is settled: another router may be able to read it', async () => {
    const { callId } = await executed({ ...ADDED, data: { exit_code: 2 } });
    const blind = openServices({ bus, signing: nats.signing });
    const unavailable = { ...blind, ctx: { ...blind.ctx, contractOf: () => Promise.reject(new Error('unreadable')) } };
    expect(await deliver(unavailable, callId)).toEqual(['nak']);
    expect((await bus.calls.get(callKey('acme', callId)))?.value.state).toBe('queued');
  });
});
