import type { WorkSource } from '@toolfabric/ports';
import type { BusLink } from './link.ts';
import { PullGroup } from './pull-group.ts';
import { type OnDelivery, Pump } from './pump.ts';
import { nextSubject, pinConsumer, WORK_CONSUMERS, workStream } from './subjects.ts';

/** Every so many questions the low queue is asked first, so that it moves under a full high one. */
const LOW_FIRST_EVERY = 5;
const WAIT_MS = 5_000;

const HI = 0;
const LO = 1;
const PIN = 2;

/**
 * Free places ask for work (protocol 6). A pull that waits unanswered at a consumer proves it empty. While one stands
 * at any, further pulls are simply put to wait; when none does, each free place asks without waiting, by turns the high
 * queue and the pinned one, and only an empty answer makes it wait at all of them.
 */
class WorkPump extends Pump {
  readonly #asking: readonly PullGroup[];
  readonly #waiting: readonly PullGroup[];
  #questions = 0;

  constructor(link: BusLink, user: string, subjects: readonly string[], slots: number, onDelivery: OnDelivery) {
    super(link, slots, onDelivery);
    const askAt = (subject: string) =>
      this.group(
        (handlers) => new PullGroup(link, { user, nextSubject: subject, ...handlers }),
        (end) => end === 'empty' && this.#waitAtAll(),
      );
    const waitAt = (subject: string) =>
      this.group(
        (handlers) => new PullGroup(link, { user, nextSubject: subject, expiresMs: WAIT_MS, ...handlers }),
        () => this.next(),
      );
    this.#asking = subjects.map(askAt);
    this.#waiting = subjects.map(waitAt);
  }

  protected ask(): void {
    if (this.#waiting.some((group) => group.expected > 0)) {
      this.#waitAtAll();
      return;
    }
    for (let place = this.#unasked; place > 0; place -= 1) this.#asking[this.#nextQueue()]?.pull(1);
  }

  #nextQueue(): number {
    this.#questions += 1;
    if (this.#questions % LOW_FIRST_EVERY === 0) return LO;
    return this.#asking.length > PIN && this.#questions % 2 === 0 ? PIN : HI;
  }

  get #unasked(): number {
    return this.#asking.reduce((left, group) => left - group.expected, this.free);
  }

  #waitAtAll(): void {
    for (const group of this.#waiting) {
      for (let missing = this.#unasked - group.expected; missing > 0; missing -= 1) group.pull(1);
    }
  }
}

/** No question at all: a consumer refuses it and hands nothing out. */
const NO_QUESTION = '{';
const PROBE_MS = 2_000;

const answers = (link: BusLink, subject: string): Promise<boolean> =>
  link.request(subject, NO_QUESTION, undefined, PROBE_MS).then(
    () => true,
    () => false,
  );

/** From another account a consumer that is not there is only silent: so it is one that is silent beside one that is not. */
const isThere = async (link: BusLink, subject: string, beside: string): Promise<boolean | undefined> => {
  const [one, other] = await Promise.all([answers(link, subject), answers(link, beside)]);
  return one || (other ? false : undefined);
};

export const createWorkSource = (link: BusLink, api: string, user: string, kind: string): WorkSource => ({
  run: (slots, onDelivery, signal, pin) => {
    const consumers = [...WORK_CONSUMERS, ...(pin === undefined ? [] : [pinConsumer(pin)])];
    const subjects = consumers.map((consumer) => nextSubject(api, workStream(kind), consumer));
    return new WorkPump(link, user, subjects, slots, onDelivery).run(signal);
  },
  hasPin: (pin) => {
    const subjectOf = (consumer: string) => nextSubject(api, workStream(kind), consumer);
    return isThere(link, subjectOf(pinConsumer(pin)), subjectOf(WORK_CONSUMERS[HI]));
  },
});
