import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Approver, CallRecord } from '@toolfabric/contract';
import { callKey } from '@toolfabric/ledger';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouterServices } from '../router-services.ts';
import { openServices } from '../testing/open-services.ts';
import { sampleCall } from '../testing/sample-call.ts';
import { resolveUnknown } from './resolve-unknown.ts';

let nats: TestNats;
let bus: LedgerBus;
let services: RouterServices;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  services = openServices({ bus, signing: nats.signing });
});
afterAll(() => nats.stop());

const grace: Approver = { tenant: 'acme', user: 'grace', agent: 'cli', tokenId: 'g', rights: ['unknown:resolve'] };

describe('whoever may say what became of a call', () => {
  it('PO-10: does not read by it what a call of somebody else brought forth', async () => {
    const call = sampleCall({ effect: 'outside', state: 'ok', args: {}, settledAt: 2_000 });
    const { callId, tool } = call;
    const result: CallRecord['result'] = {
      ...{ callId, tool: { name: tool.name, version: tool.version }, attempt: 0, status: 'ok' },
      ...{ summary: 'found', data: { salary: 5 }, sideEffect: 'confirmed', trust: 'trusted' },
      evidence: [{ kind: 'resource', ref: 'c17' }],
    };
    await bus.calls.create(callKey('acme', callId), { ...call, result });
    const evidence = { kind: 'comment', ref: 'c17' };
    const said = resolveUnknown(services, { approver: grace, callId, resolution: 'happened', evidence });
    await expect(said).rejects.toMatchObject({ type: 'not_unknown' });
  });
});
