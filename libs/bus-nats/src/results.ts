import { ResultMessage } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { QueueFull, type Results, RevisionConflict, StoreUnavailable } from '@toolfabric/ports';
import { findMessage, storeMessage } from './answers.ts';
import type { HopSeals, Seal } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import { messageGetSubject, resultStream, resultSubject } from './subjects.ts';

const FIRST = { 'Nats-Expected-Last-Subject-Sequence': '0' };

export const resultPlace = (subject: string): string => `result ${subject}`;

/** Protocol 8: created once by the expected sequence 0, without a message id. */
export const createResults = (link: BusLink, api: string, hops: HopSeals, sealOf: (kind: string) => Seal): Results => {
  const read = async (kind: string, subject: string): Promise<ResultMessage | undefined> => {
    const found = await findMessage(link, messageGetSubject(api, resultStream(kind)), { last_by_subj: subject });
    if (found === undefined) return undefined;
    const opened = sealOf(kind).open(resultPlace(subject), found.data);
    if (opened === undefined) hops.refused('result');
    const parsed = ResultMessage.safeParse(parseJson(opened?.toString('utf8') ?? ''));
    if (!parsed.success) throw new FabricError('malformed_message', `the message on ${subject} is no result`);
    return parsed.data;
  };
  return {
    async createOnce(kind, message) {
      const subject = resultSubject(kind, message.tenant, message.callId, message.epoch);
      try {
        await storeMessage(link, subject, sealOf(kind).close(resultPlace(subject), JSON.stringify(message)), FIRST);
        return { created: true, message };
      } catch (error) {
        if (error instanceof QueueFull) throw new StoreUnavailable('the results are full', { cause: error });
        if (!(error instanceof RevisionConflict)) throw error;
      }
      const first = await read(kind, subject);
      if (first === undefined) throw new StoreUnavailable('the first result was not readable');
      return { created: false, message: first };
    },
    get: async (kind, tenant, callId, epoch) => read(kind, resultSubject(kind, tenant, callId, epoch)),
  };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
