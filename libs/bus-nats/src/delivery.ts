import type { Msg } from '@nats-io/transport-node';
import type { Delivery } from '@toolfabric/ports';
import { unavailable } from './answers.ts';
import type { BusLink } from './link.ts';

/** `$JS.ACK.<stream>.<consumer>.<count>.<sequence>.…`; newer servers put a domain and an account before the stream. */
const SHORT_FORM = 9;

/** One message that was pulled; its reply subject says where it stands and takes the verdict. */
export class PulledDelivery implements Delivery {
  readonly subject: string;
  /** Without its code, once that was looked at. */
  data: Uint8Array;
  readonly sequence: number;
  readonly deliveryCount: number;
  readonly storedAt: number;
  /** Messages that stood behind it when it was sent; those that come again are not among them. */
  readonly waiting: number;
  readonly #link: BusLink;
  readonly #reply: string;

  constructor(link: BusLink, message: Msg, reply: string) {
    const parts = reply.split('.');
    const shift = parts.length > SHORT_FORM ? 2 : 0;
    this.subject = message.subject;
    this.data = message.data;
    this.deliveryCount = Number(parts[4 + shift]);
    this.sequence = Number(parts[5 + shift]);
    this.storedAt = Number(parts[7 + shift]) / 1_000_000;
    this.waiting = Number(parts[8 + shift]);
    this.#link = link;
    this.#reply = reply;
  }

  ack(): void {
    this.#link.publish(this.#reply, '+ACK');
  }

  async ackSync(): Promise<void> {
    await this.#link.request(this.#reply, '+ACK').catch((error) => Promise.reject(unavailable(error)));
  }

  nak(delayMs: number): void {
    const body = delayMs > 0 ? `-NAK ${JSON.stringify({ delay: Math.round(delayMs * 1_000_000) })}` : '-NAK';
    this.#link.publish(this.#reply, body);
  }

  working(): void {
    this.#link.publish(this.#reply, '+WPI');
  }
}
