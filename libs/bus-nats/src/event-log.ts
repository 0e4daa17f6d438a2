import type { FabricEvent } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { type EventLog, QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { storeMessage } from './answers.ts';
import type { Seal } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import { eventSubject } from './subjects.ts';

export const eventPlace = (subject: string): string => `event ${subject}`;

/**
 * The message id follows from the event id, so that the same event is stored once. With a secret it cannot be guessed:
 * otherwise another service could store something under it first, and the event would pass for a duplicate.
 */
export const createEventLog = (link: BusLink, seal: Seal, secret?: string): EventLog => ({
  emit(event) {
    const subject = eventSubject(event.service, event.tenant);
    link.publish(subject, seal.close(eventPlace(subject), JSON.stringify(event)), { header: idOf(event, secret) });
  },
  async store(event) {
    try {
      const subject = eventSubject(event.service, event.tenant);
      await storeMessage(link, subject, seal.close(eventPlace(subject), JSON.stringify(event)), idOf(event, secret));
    } catch (error) {
      if (error instanceof QueueFull) throw new StoreUnavailable('the events are full', { cause: error });
      throw error;
    }
  },
});

const idOf = (event: FabricEvent, secret: string | undefined) => ({
  'Nats-Msg-Id': secret === undefined ? event.id : sha256Hex(`${secret}\n${event.id}`).slice(0, 40),
});
