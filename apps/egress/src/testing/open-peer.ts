import { createServer as createPlain, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Pem } from '../tls/create-authority.ts';

export interface Peer {
  readonly port: number;
  /** What reached it: method, path and headers of each request. */
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers']; raw: readonly string[] }[];
  /** Bytes of bodies that reached it. */
  bytes: number;
  /** Connections with a request that were reset. */
  resets: number;
  stop(): Promise<void>;
}

const hello: RequestListener = (req, res) => res.end(`hello ${req.method} ${req.url}`);

/** A real HTTP server of the outside that writes down what it saw; over TLS with a certificate. */
export const openPeer = async (
  certificate?: Pem,
  answer: RequestListener = hello,
  host = '127.0.0.1',
): Promise<Peer> => {
  const onRequest: RequestListener = (req, res) => {
    const { method = '', url = '', headers, rawHeaders } = req;
    peer.seen.push({ method, url, headers, raw: rawHeaders });
    req.on('data', (chunk: Buffer) => {
      peer.bytes += chunk.length;
    });
    answer(req, res);
  };
  const onConnection = (socket: Socket): void => {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNRESET') peer.resets += 1;
    });
  };
  const server: Server =
    certificate === undefined ? createPlain(onRequest) : createSecure({ ...certificate }, onRequest);
  server.keepAliveTimeout = 60_000;
  server.on(certificate === undefined ? 'connection' : 'secureConnection', onConnection);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const peer: Peer = {
    port: (server.address() as AddressInfo).port,
    seen: [],
    bytes: 0,
    resets: 0,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return peer;
};
