import { textOf } from './answers.ts';
import type { BusLink } from './link.ts';

/** Answers requests on `<prefix><verb>`, shared by everybody of the queue, until the returned function is called. */
export const serveRequests = (
  link: BusLink,
  prefix: string,
  queue: string,
  handler: (verb: string, body: string) => Promise<string>,
): (() => void) => {
  const subscription = link.subscribe(
    `${prefix}*`,
    (message) => {
      const { reply } = message;
      if (reply === undefined || reply === '') return;
      const verb = message.subject.slice(prefix.length);
      handler(verb, textOf(message.data))
        .then((answer) => link.publish(reply, answer))
        .catch(() => {
          // An answer that cannot be sent leaves the request unanswered; it must not end the process.
        });
    },
    queue,
  );
  return () => subscription.unsubscribe();
};
