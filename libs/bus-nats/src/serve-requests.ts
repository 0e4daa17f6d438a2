import { randomBytes } from 'node:crypto';
import { FabricError } from '@toolfabric/kernel';
import { CODE_LENGTH, type HopSeals, type Seal } from './hop-seal.ts';
import type { BusLink } from './link.ts';

/** An answer is of its question alone: it names its code. */
export const answerPlace = (subject: string, question: string): string =>
  `answer ${subject} ${question.slice(0, CODE_LENGTH)}`;
export const questionPlace = (subject: string): string => `ask ${subject}`;

/** Characters before the text of a question that make it another one than each that was put before: 16 bytes. */
const NONCE_LENGTH = 22;

/** A question as it is sent. It is never the same twice, so that an answer that was recorded is none to it. */
export const sealQuestion = (seal: Seal, subject: string, body: string): string =>
  seal.close(questionPlace(subject), randomBytes(16).toString('base64url') + body);

/** The text of a question; undefined where its asker has not sealed it. */
const openQuestion = (seal: Seal, subject: string, data: Uint8Array): string | undefined =>
  seal.open(questionPlace(subject), data)?.subarray(NONCE_LENGTH).toString('utf8');

const NOT_BELIEVED = JSON.stringify({
  error: new FabricError('unauthenticated', 'the request is not of a service that may ask').toToolError(),
});

/**
 * Answers requests on `<prefix><verb>`, shared by everybody of the queue, until the returned function is called. What has
 * no valid code of `asker` is told so, and not looked at.
 */
export const serveRequests = (
  link: BusLink,
  prefix: string,
  queue: string,
  { hops, asker }: { readonly hops: HopSeals; readonly asker: string },
  handler: (verb: string, body: string) => Promise<string>,
): (() => void) => {
  const seal: Seal = hops.with(asker);
  const answer = async (verb: string, subject: string, data: Uint8Array): Promise<string> => {
    const body = openQuestion(seal, subject, data);
    if (body !== undefined) return handler(verb, body);
    hops.refused('request');
    return NOT_BELIEVED;
  };
  const subscription = link.subscribe(
    `${prefix}*`,
    (message) => {
      const { reply } = message;
      if (reply === undefined || reply === '') return;
      const { subject, data } = message;
      const question = Buffer.from(data.subarray(0, CODE_LENGTH)).toString('latin1');
      answer(subject.slice(prefix.length), subject, data)
        .then((text) => link.publish(reply, seal.close(answerPlace(subject, question), text)))
        .catch(() => {
          // An answer that cannot be sent leaves the request unanswered; it must not end the process.
        });
    },
    queue,
  );
  return () => subscription.unsubscribe();
};

/** The same on one subject for one process. What the handler leaves undefined, or rejects, is not answered. */
export const serveOne = (
  link: BusLink,
  subject: string,
  { hops, asker }: { readonly hops: HopSeals; readonly asker: string },
  handler: (body: string) => Promise<string | undefined>,
): (() => void) => {
  const seal: Seal = hops.with(asker);
  const subscription = link.subscribe(subject, ({ reply, data }) => {
    if (reply === undefined || reply === '') return;
    const body = openQuestion(seal, subject, data);
    if (body === undefined) return hops.refused('request');
    const question = Buffer.from(data.subarray(0, CODE_LENGTH)).toString('latin1');
    handler(body)
      .then((text) => {
        if (text !== undefined) link.publish(reply, seal.close(answerPlace(subject, question), text));
      })
      .catch(() => {
        // Unanswered says that it is not known.
      });
  });
  return () => subscription.unsubscribe();
};
