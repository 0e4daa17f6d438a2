import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { EgressRefusal } from '@toolfabric/contract';
import { Refused } from '../refuse.ts';
import type { Spending } from './spending.ts';

export interface ConnectionLimits {
  readonly idleMs: number;
  readonly connectionMs: number;
}

/**
 * Everything that one tunnel or one plain request holds open. It ends once, whole, with one reason: what was given to a
 * side and not yet sent is thrown away, so that nothing leaves after `closed` (protocol 7).
 */
export class Connection {
  readonly signal: AbortSignal;
  /** Resolves when nothing of it is open any more. */
  readonly closed: Promise<void>;
  bytes = { out: 0, in: 0 };
  /** The credentials that went out on it. */
  readonly credentials = new Set<string>();
  reason: EgressRefusal | undefined;
  readonly #sockets = new Map<Socket, () => unknown>();
  readonly #abort = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  readonly #spending: Spending;
  readonly #idle: NodeJS.Timeout;
  readonly #whole: NodeJS.Timeout;
  #ended = false;
  #cut = false;

  constructor(spending: Spending, limits: ConnectionLimits) {
    this.#spending = spending;
    this.signal = this.#abort.signal;
    this.closed = this.#done.promise;
    this.#idle = setTimeout(() => this.end('idle_timeout'), limits.idleMs);
    this.#whole = setTimeout(() => this.end('time_exceeded'), limits.connectionMs);
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** Takes a socket in; one that comes after the end is destroyed at once. When one that `leads` closes, all ends. */
  hold(socket: Socket, leads = false): void {
    if (socket.closed) return leads ? this.end() : undefined;
    const onError = () => {};
    const onClose = () => {
      this.#sockets.delete(socket);
      // Whoever might still be told to take it back is gone: nothing goes on by itself.
      if (leads) this.end(undefined, true);
      this.#finish();
    };
    socket.on('error', onError).once('close', onClose);
    this.#sockets.set(socket, () => socket.off('error', onError).off('close', onClose));
    if (this.#ended) drop(socket, this.#cut);
  }

  /** Gives a socket of the client back, for its next request. */
  release(socket: Socket): void {
    this.#sockets.get(socket)?.();
    this.#sockets.delete(socket);
  }

  /** Counts bytes that are about to pass. Throws `budget_exceeded` and ends the connection when they may not. */
  count(direction: 'out' | 'in', bytes: number): void {
    if (this.#ended) throw new Refused(this.reason ?? 'permit_closed');
    this.#idle.refresh();
    if (!this.#spending.spend(bytes)) {
      this.end('budget_exceeded');
      throw new Refused('budget_exceeded');
    }
    this.bytes[direction] += bytes;
  }

  /** Ends both sides. Without a reason it was the end that client and host wanted; `cut`: what waits is not sent. */
  end(reason?: EgressRefusal, cut = reason !== undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cut = cut;
    this.reason = reason;
    clearTimeout(this.#idle);
    clearTimeout(this.#whole);
    this.#abort.abort();
    const sockets = [...this.#sockets.keys()];
    if (cut) sockets.forEach(resetWhenDestroyed);
    // TLS before what it runs over: the other way round the process would crash.
    for (const socket of sockets.reverse()) socket.destroy();
    this.#finish();
  }

  #finish(): void {
    if (this.#ended && this.#sockets.size === 0) this.#done.resolve();
  }
}

const drop = (socket: Socket, reset: boolean): void => {
  if (reset) resetWhenDestroyed(socket);
  socket.destroy();
};

/**
 * The end of a TCP connection, by whomever, is a reset from now on: bytes that wait in the kernel are not sent either.
 * TLS over it destroys it by itself, and would else let them go.
 */
const resetWhenDestroyed = (socket: Socket): void => {
  if (socket.destroyed || socket instanceof TLSSocket || socket.remoteFamily === undefined) return;
  socket.destroy = (thrown) => {
    Reflect.deleteProperty(socket, 'destroy');
    try {
      return socket.resetAndDestroy();
    } catch {
      return socket.destroy(thrown);
    }
  };
};
