import type { WorkSource } from '@toolfabric/ports';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
import { nextSubject, WORK_CONSUMERS, workStream } from './subjects.ts';

/** Every so many questions the low queue is asked first, so that it moves under a full high one. */
const LOW_FIRST_EVERY = 5;
const WAIT_MS = 5_000;

/**
 * Free places ask for work (protocol 6). A pull that waits unanswered at a consumer proves it empty. While one stands
 * at either, further pulls are simply put to wait; when none does, each free place asks without waiting, high first,
 * and only an empty answer makes it wait at both.
 */
class WorkPump extends Pump {
  readonly #asking: readonly [PullGroup, PullGroup];
  readonly #waiting: readonly [PullGroup, PullGroup];
  #questions = 0;

  constructor(link: BusLink, api: string, user: string, kind: string, slots: number, onDelivery: OnDelivery) {
    super(link, slots, onDelivery);
    const [hi, lo] = WORK_CONSUMERS.map((consumer) => nextSubject(api, workStream(kind), consumer)) as [string, string];
    const askAt = (subject: string) =>
      this.group(
        (handlers) => new PullGroup(link, { user, nextSubject: subject, ...handlers }),
        (end) => end === 'empty' && this.#waitAtBoth(),
      );
    const waitAt = (subject: string) =>
      this.group(
        (handlers) => new PullGroup(link, { user, nextSubject: subject, expiresMs: WAIT_MS, ...handlers }),
        () => this.next(),
      );
    this.#asking = [askAt(hi), askAt(lo)];
    this.#waiting = [waitAt(hi), waitAt(lo)];
  }

  protected ask(): void {
    const [hi, lo] = this.#waiting;
    if (hi.expected > 0 || lo.expected > 0) {
      this.#waitAtBoth();
      return;
    }
    for (let place = this.#unasked; place > 0; place -= 1) {
      this.#questions += 1;
      this.#asking[this.#questions % LOW_FIRST_EVERY === 0 ? 1 : 0].pull(1);
    }
  }

  get #unasked(): number {
    const [hi, lo] = this.#asking;
    return this.free - hi.expected - lo.expected;
  }

  #waitAtBoth(): void {
    for (const group of this.#waiting) {
      for (let missing = this.#unasked - group.expected; missing > 0; missing -= 1) group.pull(1);
    }
  }
}

export const createWorkSource = (link: BusLink, api: string, user: string, kind: string): WorkSource => ({
  run: (slots, onDelivery, signal) => new WorkPump(link, api, user, kind, slots, onDelivery).run(signal),
});
