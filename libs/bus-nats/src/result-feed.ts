import type { ResultFeed } from '@toolfabric/ports';
import type { HopSeals, Seal } from './hop-seal.ts';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
import { resultPlace } from './results.ts';
import { CORE_API, nextSubject, RESULT_CONSUMER, resultStream } from './subjects.ts';

const WAIT_MS = 5_000;

/** One batch always waits at the server; it is renewed when half of the places are free. */
class ResultPump extends Pump {
  readonly #inFlight: number;
  readonly #pulls: PullGroup;

  constructor(link: BusLink, user: string, kind: string, inFlight: number, onDelivery: OnDelivery) {
    super(link, inFlight, onDelivery);
    this.#inFlight = inFlight;
    const subject = nextSubject(CORE_API, resultStream(kind), RESULT_CONSUMER);
    this.#pulls = this.group(
      (handlers) => new PullGroup(link, { user, nextSubject: subject, expiresMs: WAIT_MS, ...handlers }),
      () => this.next(),
    );
  }

  protected ask(free: number): void {
    const missing = free - this.#pulls.expected;
    if (missing >= this.#inFlight / 2 || (missing > 0 && this.#pulls.expected === 0)) this.#pulls.pull(missing);
  }
}

/** What has no valid code settles nothing, and does not come again; its call ends as the sweep finds its claim. */
const opening =
  (hops: HopSeals, seal: Seal, onDelivery: OnDelivery): OnDelivery =>
  async (delivery) => {
    const opened = seal.open(resultPlace(delivery.subject), delivery.data);
    if (opened === undefined) {
      hops.refused('result');
      return delivery.ack();
    }
    delivery.data = opened;
    return onDelivery(delivery);
  };

export const createResultFeed = (
  link: BusLink,
  user: string,
  kind: string,
  hops: HopSeals,
  seal: Seal,
): ResultFeed => ({
  run: (inFlight, onDelivery, signal) =>
    new ResultPump(link, user, kind, inFlight, opening(hops, seal, onDelivery)).run(signal),
});
