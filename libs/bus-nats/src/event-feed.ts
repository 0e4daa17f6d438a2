import { type EventFeed, type EventFeedOptions, type EventLag, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { parseAnswer, unavailable } from './answers.ts';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
import { consumerInfoSubject, IMPORTED_API, nextSubject, TRACE_CONSUMER } from './subjects.ts';

const WAIT_MS = 5_000;

/**
 * Pulls of one message each always wait at the server: between accounts a request has one answer, so a batch would end
 * after its first message.
 */
class EventPump extends Pump {
  readonly #options: EventFeedOptions;
  readonly #pulls: PullGroup;

  constructor(link: BusLink, user: string, stream: string, options: EventFeedOptions, onDelivery: OnDelivery) {
    super(link, options.inFlight, onDelivery);
    this.#options = options;
    const subject = nextSubject(IMPORTED_API, stream, TRACE_CONSUMER);
    this.#pulls = this.group(
      (handlers) => new PullGroup(link, { user, nextSubject: subject, expiresMs: WAIT_MS, ...handlers }),
      () => this.next(),
    );
  }

  protected ask(free: number): void {
    if (!this.#options.hasRoom()) return;
    const wanted = Math.min(free, this.#options.ahead);
    for (let missing = wanted - this.#pulls.expected; missing > 0; missing -= 1) this.#pulls.pull(1);
  }
}

const ConsumerState = z.object({
  error: z.object({ description: z.string().default('') }).optional(),
  num_pending: z.number().default(0),
  num_ack_pending: z.number().default(0),
});

const lagOf = async (link: BusLink, stream: string): Promise<EventLag> => {
  const answer = await link
    .request(consumerInfoSubject(IMPORTED_API, stream, TRACE_CONSUMER), '')
    .catch((error) => Promise.reject(unavailable(error)));
  const { error, num_pending, num_ack_pending } = parseAnswer(ConsumerState, answer);
  if (error !== undefined) throw new StoreUnavailable(error.description);
  return { stream, waiting: num_pending, unacknowledged: num_ack_pending };
};

export const createEventFeed = (link: BusLink, user: string, streams: readonly string[]): EventFeed => ({
  async run(options, onDelivery, signal) {
    await Promise.all(streams.map((stream) => new EventPump(link, user, stream, options, onDelivery).run(signal)));
  },
  lag: () => Promise.all(streams.map((stream) => lagOf(link, stream))),
});
