import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Redirected {
  /** The address that the browser was sent to, with what the authorisation server said in its query. */
  readonly url: string;
}

export interface RedirectListener {
  /** What the authorisation server sends the browser back to. */
  readonly redirectUri: string;
  /** The first request there that carries `state`. Rejects with the reason of the signal. */
  wait(state: string, signal: AbortSignal): Promise<Redirected>;
  close(): void;
}

const PATH = '/callback';
const MOST_ADDRESS = 8_192;
const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

/**
 * Waits on loopback for the browser that comes back from a login (RFC 8252, 7.3). Only the address with the state of
 * this login is taken, so that another page cannot end it; nothing of it is shown or logged. `port` 0 takes a free one.
 */
export const listenForRedirect = async (port: number): Promise<RedirectListener> => {
  let expected: { state: string; resolve: (redirected: Redirected) => void } | undefined;
  const server = createServer({ maxHeaderSize: 16 * 1024, requestTimeout: 10_000 }, (request, response) => {
    const address = request.url ?? '';
    const url = address.length <= MOST_ADDRESS && URL.parse(address, redirectUri);
    const isOurs =
      url && request.method === 'GET' && url.pathname === PATH && request.headers.host === new URL(redirectUri).host;
    if (!isOurs || expected === undefined || url.searchParams.get('state') !== expected.state)
      return void response.writeHead(404, TEXT).end('Nothing is here.\n');
    response.writeHead(200, TEXT).end('The login is being finished. You can close this window.\n');
    expected.resolve({ url: url.href });
  });
  server.maxConnections = 16;
  const redirectUri = `http://127.0.0.1:${await listen(server, port)}${PATH}`;
  return {
    redirectUri,
    wait: (state, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        expected = { state, resolve };
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
};
