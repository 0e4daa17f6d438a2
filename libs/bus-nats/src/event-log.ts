import type { FabricEvent } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { type EventLog, QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { storeMessage } from './answers.ts';
import type { BusLink } from './link.ts';
import { eventSubject } from './subjects.ts';

/**
 * The message id follows from the event id, so that the same event is stored once. With a secret it cannot be guessed:
 * otherwise another service could store something under it first, and the event would pass for a duplicate.
 */
export const createEventLog = (link: BusLink, secret?: string): EventLog => ({
  emit(event) {
    link.publish(eventSubject(event.service, event.tenant), JSON.stringify(event), { header: idOf(event, secret) });
  },
  async store(event) {
    try {
      await storeMessage(link, eventSubject(event.service, event.tenant), JSON.stringify(event), idOf(event, secret));
    } catch (error) {
      if (error instanceof QueueFull) throw new StoreUnavailable('the events are full', { cause: error });
      throw error;
    }
  },
});

const idOf = (event: FabricEvent, secret: string | undefined) => ({
  'Nats-Msg-Id': secret === undefined ? event.id : sha256Hex(`${secret}\n${event.id}`).slice(0, 40),
});
