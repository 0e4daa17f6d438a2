import type { EgressVerb } from '@toolfabric/contract';
import { armFaultPoints, FabricError, parseFaults } from '@toolfabric/kernel';
import { z } from 'zod';
import { type BrokerEgress, openBrokerEgress } from './open-broker.ts';
import type { BusPlace } from './open-oauth.ts';

/** What the test says to this process first: all that it has to know. */
export interface KeeperStart {
  readonly bus: BusPlace;
  readonly keys: string;
  readonly faults: string;
}
/** Then it asks as the gateway does; each answer comes back. */
export interface KeeperQuestion {
  readonly verb: EgressVerb;
  readonly request: unknown;
}

const Message = z.looseObject({ bus: z.unknown().optional() });
const tell = (message: unknown) => process.send?.(message);
let keeper: BrokerEgress | undefined;

const begin = async ({ bus, keys, faults }: KeeperStart) => {
  keeper = await openBrokerEgress(bus, keys, { faults: armFaultPoints(parseFaults(faults), true) });
  tell({ ready: true });
};

const answer = async ({ verb, request }: KeeperQuestion) => {
  try {
    tell({ ok: await keeper?.ask(verb, request) });
  } catch (thrown) {
    tell({ error: thrown instanceof FabricError ? thrown.type : String(thrown) });
  }
};

process.on('message', (message) => {
  const isStart = Message.parse(message).bus !== undefined;
  void (isStart ? begin(message as KeeperStart) : answer(message as KeeperQuestion));
});
process.on('disconnect', () => process.exit(0));
