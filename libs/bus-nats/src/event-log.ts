import type { FabricEvent } from '@toolfabric/contract';
import { type EventLog, QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { storeMessage } from './answers.ts';
import type { BusLink } from './link.ts';
import { eventSubject } from './subjects.ts';

/** The event id is the message id, so that the same event is stored once. */
export const createEventLog = (link: BusLink): EventLog => ({
  emit(event) {
    link.publish(eventSubject(event.service, event.tenant), JSON.stringify(event), { header: idOf(event) });
  },
  async store(event) {
    try {
      await storeMessage(link, eventSubject(event.service, event.tenant), JSON.stringify(event), idOf(event));
    } catch (error) {
      if (error instanceof QueueFull) throw new StoreUnavailable('the events are full', { cause: error });
      throw error;
    }
  },
});

const idOf = (event: FabricEvent) => ({ 'Nats-Msg-Id': event.id });
