import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@toolfabric/kernel';
import { checkListen, type ListenConfig } from '@toolfabric/service-host';

export interface HttpServer {
  /** `host:port` as it was bound. */
  readonly address: string;
  /** Closes the connections on which nothing is asked at the moment. */
  closeIdle(): void;
  /** Takes no connection any more, lets requests in flight end for `drainMs` milliseconds, then breaks what is left. */
  stop(drainMs: number): Promise<void>;
}

const HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 1_024;
const OPTIONS: ServerOptions = {
  maxHeaderSize: HEADER_BYTES,
  // Bodies have a watch of their own.
  requestTimeout: 0,
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 65_000,
};

/** `onInvited` gets the requests whose sender waits until it is told to go on. */
export const startHttpServer = async (
  listen: ListenConfig,
  onRequest: RequestListener,
  onInvited: RequestListener,
  headersMs: number,
): Promise<HttpServer> => {
  checkListen(listen);
  const server = await createFor(listen);
  server.headersTimeout = headersMs;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', onRequest);
  server.on('checkContinue', onInvited);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address.includes(':') ? `[${address}]` : address}:${port}`,
    closeIdle: () => server.closeIdleConnections(),
    stop: (drainMs) => stop(server, drainMs),
  };
};

const createFor = async ({ tls }: ListenConfig): Promise<Server> => {
  if (tls === undefined) return createServer(OPTIONS);
  const [cert, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return createTlsServer({ ...OPTIONS, cert, key, minVersion: 'TLSv1.2' });
};

const stop = async (server: Server, drainMs: number): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const late = new AbortController();
  await Promise.race([closed, systemClock.sleep(drainMs, late.signal)]);
  late.abort();
  server.closeAllConnections();
  await closed;
};
