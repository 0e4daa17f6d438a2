import type { FabricEvent } from '@toolfabric/contract';
import { noMetrics, silentLogger, systemClock } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { BatchWriter } from './batch-writer.ts';
import { EventTaker } from './take-events.ts';

const event: FabricEvent = {
  ...{ id: 'e-1', type: 'task.created', service: 'router', tenant: 'acme', at: Date.now(), attributes: {} },
};

const open = () => {
  const gate = Promise.withResolvers<void>();
  const common = { clock: systemClock, log: silentLogger, metrics: noMetrics };
  const writer = new BatchWriter(
    { ...common, store: { insert: () => gate.promise } },
    { events: 1, bytes: 1_000, lingerMs: 1, heldBytes: 10_000 },
  );
  const said: string[] = [];
  const taker = new EventTaker({ ...common, writer, retention: { days: 1, tenants: {} } });
  const take = (data: unknown) =>
    taker.take({
      ...{ subject: 'event.router.acme', data: Buffer.from(JSON.stringify(data)), sequence: 1, deliveryCount: 1 },
      ack: () => void said.push('ack'),
      ackSync: async () => void said.push('ack'),
      nak: () => void said.push('nak'),
      working: () => {},
    });
  return { gate, writer, said, take };
};

describe('an event', () => {
  it('TR-1: is acknowledged when its rows are stored, and not before', async () => {
    const { gate, writer, said, take } = open();
    const taking = take(event);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(said).toEqual([]);
    gate.resolve();
    await taking;
    expect(said).toEqual(['ack']);
    await writer.drain(1_000);
  });

  it('whose rows could not be stored is not acknowledged', async () => {
    const { gate, writer, said, take } = open();
    const taking = take(event);
    gate.reject(new Error('the store is away'));
    await Promise.all([expect(taking).rejects.toThrow('stopped'), writer.drain(50)]);
    expect(said).toEqual([]);
  });

  it('that can never become rows is acknowledged', async () => {
    const { writer, said, take } = open();
    await take({ ...event, tenant: 'rival' });
    expect(said).toEqual(['ack']);
    await writer.drain(50);
  });
});
