import { RequestUnanswered } from '@toolfabric/ports';
import { textOf } from './answers.ts';
import type { HopSeals } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import { answerPlace, sealQuestion } from './serve-requests.ts';

export interface Asked {
  readonly link: BusLink;
  readonly hops: HopSeals;
  readonly peer: string;
  readonly otherwise: string;
}

/** An answer without a valid code is none. Throws `RequestUnanswered`. */
export const askService = async (
  { link, hops, peer, otherwise }: Asked,
  subject: string,
  body: string,
  timeoutMs: number,
) => {
  const seal = hops.with(peer);
  const question = sealQuestion(seal, subject, body);
  try {
    const { data } = await link.request(subject, question, undefined, timeoutMs);
    const opened = seal.open(answerPlace(subject, question), data);
    if (opened !== undefined) return textOf(opened);
    hops.refused('answer');
  } catch (error) {
    throw new RequestUnanswered(otherwise, { cause: error });
  }
  throw new RequestUnanswered(otherwise);
};
