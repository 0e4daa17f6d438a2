import type { ResultFeed } from '@toolfabric/ports';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
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

export const createResultFeed = (link: BusLink, user: string, kind: string): ResultFeed => ({
  run: (inFlight, onDelivery, signal) => new ResultPump(link, user, kind, inFlight, onDelivery).run(signal),
});
