import { isIPv4 } from 'node:net';

export interface ListenConfig {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM files. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Listens in the clear beyond loopback: for a network that is itself protected, for example by a mesh. */
  readonly insecure: boolean;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Throws when bearer tokens or permits, which whoever reads them can use, would come in the clear from other machines. */
export const checkListen = ({ host, tls, insecure }: ListenConfig): void => {
  if (tls !== undefined || insecure || isLoopback(host)) return;
  throw new Error(`refusing to listen on ${host} without TLS: give a certificate and a key, or say insecure`);
};
