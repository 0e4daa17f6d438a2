import type { Hop, HopSeals, PublicBusKeys } from './hop-seal.ts';
import type { BusLink } from './link.ts';

/** How a service reaches the bus. */
export interface BusConfig {
  readonly servers: string | readonly string[];
  /** Seed of the service's NKey. */
  readonly nkeySeed: string;
  /** Of everybody on the bus: what they say is checked against these. */
  readonly publicKeys: PublicBusKeys;
  /** Shown by the server's monitoring. */
  readonly name: string;
  /** Milliseconds for one request, also while there is no connection; 4,000 when left out. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds for the first connection; 10,000 when left out. */
  readonly connectTimeoutMs?: number;
}

/** The life of a connection; it reconnects by itself for ever, unless the server refuses its key. */
export interface BusConnection {
  isConnected(): boolean;
  /** Tells of what came without a valid code and was not looked at; one listener. */
  onRefused(listener: (hop: Hop) => void): void;
  /** Resolves with a reason when the connection is over for good. */
  readonly closed: Promise<string>;
  /** Sends what waits, then closes; two seconds at most. Safe to call twice. */
  close(): Promise<void>;
}

/** The ports with the life of their connection. */
export const withConnection = <T extends object>(link: BusLink, hops: HopSeals, ports: T): T & BusConnection =>
  Object.assign(ports, {
    isConnected: () => link.connected,
    onRefused: (listener: (hop: Hop) => void) => hops.onRefused(listener),
    closed: link.closed,
    close: () => link.close(),
  });
