import { type EventFeed, type EventFeedOptions, type EventLag, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { parseAnswer, unavailable } from './answers.ts';
import type { PulledDelivery } from './delivery.ts';
import { eventPlace } from './event-log.ts';
import type { HopSeals } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
import { consumerInfoSubject, IMPORTED_API, nextSubject, TRACE_CONSUMER } from './subjects.ts';

/**
 * Takes what a stream has, and then leaves it alone until the next look: a message that were sent on as soon as it is
 * stored would wake the server and this process in the middle of the calls that it tells of. The looks of all streams
 * fall together. Each pull asks for one message: between accounts a request has one answer, so that a batch would end
 * after its first message. How many are worth asking for stands in each message.
 */
class EventPump extends Pump {
  readonly #options: EventFeedOptions;
  readonly #pulls: PullGroup;
  /** Messages that may be there and are not there yet. */
  #promised = 1;
  #resting: NodeJS.Timeout | undefined;

  constructor(link: BusLink, user: string, stream: string, options: EventFeedOptions, onDelivery: OnDelivery) {
    super(link, options.inFlight, onDelivery);
    this.#options = options;
    const subject = nextSubject(IMPORTED_API, stream, TRACE_CONSUMER);
    this.#pulls = this.group(
      ({ onDelivery: arrive, onEnd }) => {
        const note = (delivery: PulledDelivery) => {
          this.#promised = delivery.deliveryCount > 1 ? options.ahead : Math.max(1, delivery.waiting);
          arrive(delivery);
        };
        return new PullGroup(link, { user, nextSubject: subject, onDelivery: note, onEnd });
      },
      () => this.#rest(),
    );
  }

  protected ask(free: number): void {
    if (this.#resting !== undefined || !this.#options.hasRoom()) return;
    const wanted = Math.min(free, this.#options.ahead, this.#promised);
    for (let missing = wanted - this.#pulls.expected; missing > 0; missing -= 1) this.#pulls.pull(1);
  }

  override async run(signal: AbortSignal): Promise<void> {
    await super.run(signal);
    clearTimeout(this.#resting);
  }

  #rest(): void {
    if (this.#resting !== undefined) return;
    this.#promised = 1;
    const { everyMs } = this.#options;
    this.#resting = setTimeout(
      () => {
        this.#resting = undefined;
        this.next();
      },
      everyMs - (performance.now() % everyMs),
    );
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

/** `event.<service>.<tenant>`: the bus lets only that service publish there, and the code must be its own. */
const opening =
  (hops: HopSeals, onDelivery: OnDelivery): OnDelivery =>
  async (delivery) => {
    const seal = hops.of(delivery.subject.split('.')[1] ?? '');
    const opened = seal?.open(eventPlace(delivery.subject), delivery.data);
    if (opened === undefined) {
      hops.refused('event');
      return delivery.ack();
    }
    delivery.data = opened;
    return onDelivery(delivery);
  };

export const createEventFeed = (
  link: BusLink,
  user: string,
  streams: readonly string[],
  hops: HopSeals,
): EventFeed => ({
  async run(options, onDelivery, signal) {
    const take = opening(hops, onDelivery);
    await Promise.all(streams.map((stream) => new EventPump(link, user, stream, options, take).run(signal)));
  },
  lag: () => Promise.all(streams.map((stream) => lagOf(link, stream))),
});
