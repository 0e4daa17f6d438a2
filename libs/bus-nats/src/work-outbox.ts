import { RevisionConflict, StoreUnavailable, type WorkOutbox } from '@toolfabric/ports';
import { deleteMessage, findMessage, storeMessage } from './answers.ts';
import type { BusLink } from './link.ts';
import { CORE_API, messageDeleteSubject, messageGetSubject, workStream } from './subjects.ts';

export const createWorkOutbox = (link: BusLink): WorkOutbox => ({
  async publish(kind, subject, messageId, body) {
    if (!subject.startsWith(`work.${kind}.`)) throw new RangeError(`${subject} is no work subject of ${kind}`);
    try {
      return await storeMessage(link, subject, body, { 'Nats-Msg-Id': messageId });
    } catch (error) {
      if (error instanceof RevisionConflict) throw new StoreUnavailable(error.message, { cause: error });
      throw error;
    }
  },
  async has(kind, sequence) {
    const found = await findMessage(link, messageGetSubject(CORE_API, workStream(kind)), { seq: sequence });
    return found !== undefined;
  },
  async remove(kind, sequence, subject) {
    const found = await findMessage(link, messageGetSubject(CORE_API, workStream(kind)), { seq: sequence });
    if (found?.subject !== subject) return false;
    return deleteMessage(link, messageDeleteSubject(CORE_API, workStream(kind)), sequence);
  },
});
