import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';

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

  /** Sends a request; `forbidden` is the server's refusal, `unanswered` means that nobody took it. */
  async request(subject: string, body = '', timeoutMs = 400): Promise<{ attempt: Attempt; text: string }> {
    const before = this.#forbidden.length;
    try {
      const answer = await this.#nc.request(subject, body, { timeout: timeoutMs, noMux: true });
      return { attempt: 'answered', text: answer.string() };
    } catch {
      await this.#nc.flush();
      return { attempt: this.#forbidden.length > before ? 'forbidden' : 'unanswered', text: '' };
    }
  }

  /** Sends a message with a reply subject of the caller's choice. */
  async publish(subject: string, body = '', reply?: string): Promise<Attempt> {
    const before = this.#forbidden.length;
    this.#nc.publish(subject, body, reply === undefined ? {} : { reply });
    await this.#nc.flush();
    return this.#forbidden.length > before ? 'forbidden' : 'allowed';
  }

  async subscribe(subject: string, listener: (subject: string, text: string) => void = () => {}): Promise<Attempt> {
    const before = this.#forbidden.length;
    this.#nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message.subject, message.string());
      },
    });
    await this.#nc.flush();
    return this.#forbidden.length > before ? 'forbidden' : 'allowed';
  }

  flush(): Promise<void> {
    return this.#nc.flush();
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
