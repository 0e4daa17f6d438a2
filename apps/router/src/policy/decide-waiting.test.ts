import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Claim, FabricEvent, OpenEntry } from '@toolfabric/contract';
import { systemClock } from '@toolfabric/kernel';
import { callKey, changeRecord, claimKey, openKey } from '@toolfabric/ledger';
import type { Versioned } from '@toolfabric/ports';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { openServices } from '../testing/open-services.ts';
import { ADA, sampleCall } from '../testing/sample-call.ts';
import { decideWaiting } from './decide-waiting.ts';

let nats: TestNats;
let bus: LedgerBus;
let ctx: RouterContext;
const stored: FabricEvent[] = [];

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  const { ctx: opened } = openServices({ bus, signing: nats.signing });
  const events = { emit: () => {}, store: async (event: FabricEvent) => void stored.push(event) };
  ctx = {
    ...opened,
    ports: { ...opened.ports, events },
    policyMark: () => ({ watermark: 2 }),
    decideQueued: async () => ({ verdict: 'deny', error: 'denied_by_policy', reason: 'not any more' }),
  };
});
afterAll(() => nats.stop());

/** A second run of a write waits in the queue, decided under an older policy; `claim` is what the ledger holds. */
const waiting = async (letter: string, claim: Partial<Claim>, by = ctx) => {
  const callId = `2969-${letter.repeat(26)}`;
  const call = sampleCall({ callId, effect: 'outside', claim: 'required', epoch: 2, watermark: 1 });
  const entry: OpenEntry = { callId, actor: ADA, openedAt: 1, sent: { epoch: 2, sequence: 1_000 } };
  const [revision, opened] = [
    await bus.calls.create(callKey('acme', callId), call),
    await bus.open.create(openKey('acme', callId), entry),
  ];
  const released = { state: 'released', epoch: 2, sequence: 0, incarnation: '', nonce: '', cancelRequested: false };
  await changeRecord<Claim>(
    bus.claims('cli'),
    claimKey('cli', 'acme', callId),
    () => ({ ...released, ...claim }) as Claim,
    { clock: systemClock },
  );
  const open: Versioned<OpenEntry> = { value: entry, revision: opened };
  await decideWaiting(by, open, { value: call, revision } satisfies StoredCall);
  return (await bus.calls.get(callKey('acme', callId)))?.value;
};

describe('a policy that denies what waits', () => {
  it('L3: ends it denied where nothing was done', async () => {
    expect(await waiting('c', {})).toMatchObject({ state: 'denied', result: { sideEffect: 'none' } });
  });

  it('L3: never ends it denied while an earlier attempt may still take effect', async () => {
    expect(await waiting('d', { doubt: true })).toMatchObject({ state: 'unknown', result: { sideEffect: 'possible' } });
  });

  it('PO-4: says in the record and in the event that another yes is needed, where that is why', async () => {
    const decideQueued: RouterContext['decideQueued'] = async () => ({
      ...{ verdict: 'deny', error: 'approval_changed', reason: 'a person must allow it now' },
    });
    const end = await waiting('e', {}, { ...ctx, decideQueued });
    expect(end).toMatchObject({ state: 'denied', result: { error: { type: 'approval_changed' } } });
    const told = stored.find(({ callId }) => callId === end?.callId);
    expect(told).toMatchObject({
      type: 'call.settled',
      attributes: { state: 'denied', error: 'approval_changed', sideEffect: 'none' },
    });
  });
});
