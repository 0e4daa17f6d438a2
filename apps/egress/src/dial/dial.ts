import { connect, isIPv6, type Socket } from 'node:net';
import { Refused } from '../refuse.ts';

export interface DialLimits {
  readonly connectMs: number;
  readonly nextAddressMs: number;
}

/** IPv6 and IPv4 in turn, beginning with the family of the first, so that a broken family costs one step. */
export const inTurns = (addresses: readonly string[]): readonly string[] => {
  const first = isIPv6(addresses[0] ?? '');
  const [a, b] = [addresses.filter((x) => isIPv6(x) === first), addresses.filter((x) => isIPv6(x) !== first)];
  return addresses.flatMap((_, i) => [a[i], b[i]].filter((x) => x !== undefined));
};

const open = (address: string, port: number, signal: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true, allowHalfOpen: true });
    const onAbort = () => socket.destroy(new Error('given up'));
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', reject);
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.off('error', reject);
      if (signal.aborted) socket.destroy();
      else resolve(socket);
    });
  });

/** Resolves after `ms`, or at once when `early` is called or the signal is aborted. */
const turnOf = (ms: number, signal: AbortSignal) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return { promise: promise.finally(() => clearTimeout(timer)), early: resolve };
};

/**
 * A connection to one of `addresses`, and to nothing else: no name is looked up here. The next address is tried when one
 * fails or is slow; the first to answer wins and the others are ended. Throws `connect_failed`.
 */
export const dial = async (
  addresses: readonly string[],
  port: number,
  limits: DialLimits,
  signal: AbortSignal,
): Promise<Socket> => {
  const rest = new AbortController();
  const end = AbortSignal.any([signal, rest.signal, AbortSignal.timeout(limits.connectMs)]);
  const order = inTurns([...new Set(addresses)]);
  const turns = order.map((_, index) => turnOf(index * limits.nextAddressMs, end));
  const attempts = order.map(async (address, index) => {
    await turns[index]?.promise;
    end.throwIfAborted();
    return open(address, port, end).catch((thrown: unknown) => {
      turns[index + 1]?.early();
      throw thrown;
    });
  });
  try {
    const winner = await Promise.any(attempts);
    for (const attempt of attempts) attempt.then((socket) => socket === winner || socket.destroy()).catch(() => {});
    return winner;
  } catch (thrown) {
    throw new Refused('connect_failed', thrown);
  } finally {
    rest.abort();
  }
};
