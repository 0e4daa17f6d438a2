import {
  AuthorizationError,
  connect,
  headers,
  type Msg,
  type NatsConnection,
  nkeyAuthenticator,
  PermissionViolationError,
  type Subscription,
} from '@nats-io/transport-node';
import { randomId } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { inboxPrefix } from './subjects.ts';

/** Why a request has no answer. Only `no_responders` and `forbidden` mean that nothing was handled. */
export type Unanswered = 'timeout' | 'no_responders' | 'disconnected' | 'forbidden' | 'closed';

export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly reason: Unanswered;

  constructor(reason: Unanswered, subject: string) {
    super(`no answer on ${subject}: ${reason}`);
    this.reason = reason;
  }
}

export interface LinkConfig {
  readonly servers: string | readonly string[];
  readonly nkeySeed: string;
  /** Shown by the server's monitoring. */
  readonly name: string;
  readonly user: string;
  /** Milliseconds; 4,000 when left out. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds for the first connection; 10,000 when left out. */
  readonly connectTimeoutMs?: number;
}

export type HeaderMap = Readonly<Record<string, string>>;

interface Outgoing {
  readonly subject: string;
  readonly data: Uint8Array | string;
  readonly options: { readonly reply?: string; readonly headers?: ReturnType<typeof toHeaders> };
  /** Of the request that waits for an answer. */
  readonly token: string | undefined;
}

interface Pending {
  readonly subject: string;
  readonly timer: NodeJS.Timeout;
  resolve(message: Msg): void;
  reject(error: NoAnswer): void;
}

const DRAIN_MS = 2_000;

/**
 * One connection to the bus with a request multiplexer of its own.
 *
 * Invariants. (1) Every request ends by its timeout. (2) When the connection breaks, all requests in flight end at
 * once as `disconnected`; new ones wait for the next connection within their timeout. (3) It reconnects for ever.
 */
export class BusLink {
  readonly #nc: NatsConnection;
  readonly #requestTimeoutMs: number;
  readonly #inbox: string;
  readonly #pending = new Map<string, Pending>();
  readonly #reconnected = new Set<() => void>();
  #outbox: Outgoing[] = [];
  #connected = true;
  #closing = false;
  #count = 0;
  /** Resolves with a reason when the connection was given up (by `close` or because the server refuses the key). */
  readonly closed: Promise<string>;

  constructor(nc: NatsConnection, user: string, requestTimeoutMs: number) {
    this.#nc = nc;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#inbox = `${inboxPrefix(user)}.${randomId()}.`;
    nc.subscribe(`${this.#inbox}*`, { callback: (_error, message) => this.#answer(message) });
    void this.#watch();
    this.closed = nc.closed().then((error) => {
      this.#connected = false;
      this.#failAll('closed');
      this.#reconnected.clear();
      return error instanceof Error ? error.message : 'closed';
    });
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Throws `NoAnswer`, nothing else. */
  async request(
    subject: string,
    data: Uint8Array | string,
    header?: HeaderMap,
    timeoutMs = this.#requestTimeoutMs,
  ): Promise<Msg> {
    let left = timeoutMs;
    if (!this.#connected) {
      const since = performance.now();
      await this.#whenConnected(subject, timeoutMs);
      left = Math.max(1, timeoutMs - (performance.now() - since));
    }
    return this.#send(subject, data, header, left);
  }

  /** Fire and forget: lost while there is no connection. */
  publish(subject: string, data: Uint8Array | string, options: { header?: HeaderMap; reply?: string } = {}): void {
    if (!this.#connected || this.#closing) return;
    const { header, reply } = options;
    const sending = {
      ...(reply === undefined ? {} : { reply }),
      ...(header === undefined ? {} : { headers: toHeaders(header) }),
    };
    this.#post({ subject, data, options: sending, token: undefined });
  }

  /**
   * The client writes to its socket at the first microtask after a publish; what one turn of the event loop has to
   * send goes out together instead, in one write.
   */
  #post(message: Outgoing): void {
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const outbox = this.#outbox;
    this.#outbox = [];
    for (const { subject, data, options, token } of outbox) {
      if (!this.#connected) {
        if (token !== undefined) this.#fail(token, 'disconnected');
        continue;
      }
      try {
        this.#nc.publish(subject, data, options);
      } catch {
        if (token !== undefined) this.#fail(token, 'closed');
      }
    }
  }

  subscribe(subject: string, listener: (message: Msg) => void, queue?: string): Subscription {
    const callback = (error: Error | null, message: Msg) => {
      if (error === null) listener(message);
    };
    return this.#nc.subscribe(subject, { callback, ...(queue === undefined ? {} : { queue }) });
  }

  /** A fresh inbox of this connection's user, without its last token. */
  newInbox(user: string): string {
    return `${inboxPrefix(user)}.${randomId()}.`;
  }

  /** Called at every new connection after the first; returns the way to stop. */
  onReconnect(listener: () => void): () => void {
    this.#reconnected.add(listener);
    return () => this.#reconnected.delete(listener);
  }

  /** Lets what was sent get out and what was asked be answered, for two seconds at most. Safe to call twice. */
  async close(): Promise<void> {
    if (!this.#closing && this.#connected) {
      this.#closing = true;
      const bound = new AbortController();
      const late = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, DRAIN_MS);
        bound.signal.addEventListener('abort', () => clearTimeout(timer));
      });
      this.#flush();
      await Promise.race([this.#nc.drain().catch(() => {}), late]);
      bound.abort();
    }
    this.#closing = true;
    await this.#nc.close();
  }

  #send(subject: string, data: Uint8Array | string, header: HeaderMap | undefined, timeoutMs: number): Promise<Msg> {
    return new Promise((resolve, reject) => {
      this.#count += 1;
      const token = this.#count.toString(36);
      const timer = setTimeout(() => this.#fail(token, 'timeout'), timeoutMs);
      this.#pending.set(token, { subject, timer, resolve, reject });
      const reply = this.#inbox + token;
      const options = header === undefined ? { reply } : { reply, headers: toHeaders(header) };
      this.#post({ subject, data, options, token });
    });
  }

  #answer(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length);
    const pending = this.#pending.get(token);
    if (!pending) return;
    if (message.data.length === 0 && message.headers?.code === 503) {
      this.#fail(token, 'no_responders');
      return;
    }
    this.#pending.delete(token);
    clearTimeout(pending.timer);
    pending.resolve(message);
  }

  #fail(token: string, reason: Unanswered): void {
    const pending = this.#pending.get(token);
    if (!pending) return;
    this.#pending.delete(token);
    clearTimeout(pending.timer);
    pending.reject(new NoAnswer(reason, pending.subject));
  }

  #failAll(reason: Unanswered, subject?: string): void {
    for (const [token, pending] of this.#pending) {
      if (subject === undefined || pending.subject === subject) this.#fail(token, reason);
    }
  }

  #whenConnected(subject: string, timeoutMs: number): Promise<void> {
    if (this.#nc.isClosed()) return Promise.reject(new NoAnswer('closed', subject));
    return new Promise((resolve, reject) => {
      const stop = this.onReconnect(() => {
        clearTimeout(timer);
        stop();
        resolve();
      });
      const timer = setTimeout(() => {
        stop();
        reject(new NoAnswer('disconnected', subject));
      }, timeoutMs);
    });
  }

  async #watch(): Promise<void> {
    for await (const status of this.#nc.status()) {
      if (status.type === 'disconnect') {
        this.#connected = false;
        this.#failAll('disconnected');
      } else if (status.type === 'reconnect') {
        this.#connected = true;
        for (const listener of [...this.#reconnected]) listener();
      } else if (status.type === 'error' && status.error instanceof PermissionViolationError) {
        this.#failAll('forbidden', status.error.subject);
      }
    }
  }
}

const toHeaders = (header: HeaderMap) => {
  const made = headers();
  for (const name in header) made.append(name, header[name] ?? '');
  return made;
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Throws `StoreUnavailable` when no server answers in time, and the server's own error when it refuses the key. */
export const openLink = async (config: LinkConfig): Promise<BusLink> => {
  const deadline = performance.now() + (config.connectTimeoutMs ?? 10_000);
  const seed = new TextEncoder().encode(config.nkeySeed.trim());
  for (;;) {
    try {
      const nc = await connect({
        servers: typeof config.servers === 'string' ? config.servers : [...config.servers],
        authenticator: nkeyAuthenticator(seed),
        name: config.name,
        inboxPrefix: inboxPrefix(config.user),
        timeout: Math.max(500, Math.min(5_000, deadline - performance.now())),
        maxReconnectAttempts: -1,
        reconnectDelayHandler: () => 50 + Math.random() * 250,
        pingInterval: 5_000,
        maxPingOut: 2,
        noAsyncTraces: true,
        ignoreClusterUpdates: true,
      });
      return new BusLink(nc, config.user, config.requestTimeoutMs ?? 4_000);
    } catch (error) {
      if (error instanceof AuthorizationError) throw error;
      if (performance.now() > deadline) throw new StoreUnavailable('no bus server answers', { cause: error });
      await sleep(100 + Math.random() * 100);
    }
  }
};
