import { setImmediate } from 'node:timers/promises';
import { connect, headers, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';

/** What became of a message that somebody tried to send or a subject that somebody tried to hear. */
export type Attempt = 'forbidden' | 'unanswered' | 'answered' | 'allowed';

/**
 * A bare connection with the key of one user, for trying what that user must not do. It bypasses the adapter, as an
 * attacker inside a service would.
 */
export class RawUser {
  readonly #nc: NatsConnection;
  readonly #forbidden: string[] = [];
  readonly inbox: string;

  private constructor(nc: NatsConnection, inbox: string) {
    this.#nc = nc;
    this.inbox = inbox;
    void this.#watch();
  }

  static async connect(url: string, user: string, seed: string): Promise<RawUser> {
    const inbox = `_INBOX_${user}`;
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed));
    const nc = await connect({ servers: url, authenticator, inboxPrefix: inbox, name: `raw ${user}` });
    return new RawUser(nc, inbox);
  }

  /** Must be refused by the server: there is no user without a key. */
  static async connectAnonymous(url: string): Promise<RawUser> {
    return new RawUser(await connect({ servers: url, reconnect: false }), '_INBOX');
  }

  /** Sends a request; `forbidden` is the server's refusal, `unanswered` means that nobody took it. */
  async request(
    subject: string,
    body = '',
    timeoutMs = 400,
    header: Readonly<Record<string, string>> = {},
  ): Promise<{ attempt: Attempt; text: string }> {
    const made = headers();
    for (const [name, value] of Object.entries(header)) made.set(name, value);

    const before = this.#forbidden.length;
    try {
      const answer = await this.#nc.request(subject, body, { timeout: timeoutMs, noMux: true, headers: made });
      return { attempt: 'answered', text: answer.string() };
    } catch {
      await this.flush();
      return { attempt: this.#forbidden.length > before ? 'forbidden' : 'unanswered', text: '' };
    }
  }

  /** Sends a message with a reply subject of the caller's choice. */
  async publish(subject: string, body = '', reply?: string): Promise<Attempt> {
    const before = this.#forbidden.length;
    this.#nc.publish(subject, body, reply === undefined ? {} : { reply });
    await this.flush();
    return this.#forbidden.length > before ? 'forbidden' : 'allowed';
  }

  async subscribe(subject: string, listener: (subject: string, text: string) => void = () => {}): Promise<Attempt> {
    const before = this.#forbidden.length;
    this.#nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message.subject, message.string());
      },
    });
    await this.flush();
    return this.#forbidden.length > before ? 'forbidden' : 'allowed';
  }

  /** Answers every request on a subject with the same text, until the returned function is called. */
  async answer(subject: string, text: string): Promise<() => void> {
    const subscription = this.#nc.subscribe(subject, { callback: (_error, message) => void message.respond(text) });
    await this.flush();
    return () => subscription.unsubscribe();
  }

  /** Resolves when the server has handled all that was sent, and its refusals were noted here. */
  async flush(): Promise<void> {
    await this.#nc.flush();
    await setImmediate();
  }

  close(): Promise<void> {
    return this.#nc.close();
  }

  async #watch(): Promise<void> {
    for await (const status of this.#nc.status()) {
      if (status.type === 'error') this.#forbidden.push(status.error.message);
    }
  }
}
