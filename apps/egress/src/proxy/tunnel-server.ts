import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EgressContext } from '../egress-context.ts';
import { forwardRequest } from './forward-request.ts';
import { Outlet } from './outlet.ts';
import type { Way } from './way.ts';

interface Tunnel {
  readonly way: Way;
  readonly outlet: Outlet;
  /** Ends a tunnel in which the next request does not come, or not whole. */
  readonly wait: NodeJS.Timeout;
}

/** Reads what goes through tunnels as HTTP/1.1. It listens nowhere: tunnels are given to it. */
export class TunnelServer {
  readonly #ctx: EgressContext;
  readonly #tunnels = new WeakMap<Socket, Tunnel>();
  readonly #server: Server;

  constructor(ctx: EgressContext) {
    this.#ctx = ctx;
    const strict = { insecureHTTPParser: false, maxHeaderSize: ctx.limits.headerBytes, requireHostHeader: true };
    this.#server = createServer(strict, (req, res) => this.#onRequest(req, res));
    this.#server.maxHeadersCount = 0;
    this.#server.keepAliveTimeout = 0;
    this.#server.on('clientError', (_, socket) => socket.destroy());
  }

  /** `socket` carries requests in the clear, as they come or out of TLS. */
  take(socket: Socket, way: Way): void {
    const wait = setTimeout(() => way.connection.end('idle_timeout'), this.#ctx.limits.idleMs);
    way.connection.signal.addEventListener('abort', () => clearTimeout(wait), { once: true });
    this.#tunnels.set(socket, { way, outlet: new Outlet(this.#ctx, way), wait });
    this.#server.emit('connection', socket);
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const tunnel = this.#tunnels.get(req.socket);
    if (tunnel === undefined) return void req.socket.destroy();
    const { way, outlet, wait } = tunnel;
    clearTimeout(wait);
    res.once('finish', () => way.connection.isEnded || wait.refresh());
    void forwardRequest(this.#ctx, way, outlet, req, res, req.url ?? '');
  }
}
