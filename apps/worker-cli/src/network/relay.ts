import {
  type ClientRequest,
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import type { EgressProxy } from '@toolfabric/ports';
import { meaningOf, type RefusedHost, RefusedHosts, reasonOf } from './refused-hosts.ts';

/** Connections of one call at a time; the egress has a bound of its own for each permit. */
const MOST_CONNECTIONS = 64;
/** Requests of one call that wait for their end: more come only from who asks on and on without reading an answer. */
const MOST_REQUESTS = 2 * MOST_CONNECTIONS;

/** Of this connection alone, and what the relay says itself. Trailers are not passed on. */
const OWN_HEADERS = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);
const OWN_ANSWER_HEADERS = new Set(['connection', 'keep-alive', 'trailer']);

const without = (raw: readonly string[], left: ReadonlySet<string>): string[] => {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? '';
    if (!left.has(name.toLowerCase())) kept.push(name, raw[at + 1] ?? '');
  }
  return kept;
};

const textOf = (reason: RefusedHost['reason'], target: string): string =>
  `The way out refused ${target}: ${reason}. ${meaningOf(reason)}\n`;

const hostIn = (url: string): string => (URL.canParse(url) ? new URL(url).host : '');

/** A proxy is asked with the whole address. */
const ABSOLUTE = /^http:\/\//i;

const refuse = (answer: ServerResponse, reason: RefusedHost['reason'], host: string): void => {
  const status = reason === 'egress_unavailable' ? 502 : 400;
  answer.writeHead(status, { 'content-type': 'text/plain', 'toolfabric-egress': reason, connection: 'close' });
  answer.end(textOf(reason, host));
};

/** Ends a connection so that the other side sees that it broke. */
const breakOff = (socket: Duplex): void => {
  if ('resetAndDestroy' in socket) (socket as Socket).resetAndDestroy();
  else socket.destroy();
};

/** What a program or a host says, and Node.js would throw for, costs its connection and nothing of this worker. */
const orBreakOff = (socket: Duplex, step: () => void): void => {
  try {
    step();
  } catch {
    breakOff(socket);
  }
};

/**
 * Stands between the programs of one call and the egress: takes connections on a socket that listens inside the sandbox
 * of the call, and passes what they ask on to the egress with the leave of the call, which never enters the sandbox. What
 * may pass is decided by the egress alone. `close` breaks off whatever is open.
 */
export class Relay {
  readonly #proxy: EgressProxy;
  readonly #authorization: string;
  readonly #http: HttpServer;
  readonly #open = new Set<Duplex>();
  /** What broke off on the way to these is no refusal: something may have gone out. */
  readonly #reached = new WeakSet<ClientRequest>();
  readonly refused = new RefusedHosts();
  #inside: Server | undefined;
  #waiting = 0;
  #isClosed = false;

  constructor(proxy: EgressProxy) {
    this.#proxy = proxy;
    this.#authorization = `Basic ${Buffer.from(`call:${proxy.token}`).toString('base64')}`;
    this.#http = createServer({ requestTimeout: 0 });
    this.#http.on('request', (asked, answer) => orBreakOff(asked.socket, () => this.#forward(asked, answer)));
    this.#http.on('connect', (asked, client, head) =>
      orBreakOff(client, () => this.#connect(asked.url ?? '', client, head)),
    );
  }

  /** To be called in the step in which the socket arrived: what connects before is lost. */
  readonly listen = (inside: Server): void => {
    this.#inside = inside;
    inside.maxConnections = MOST_CONNECTIONS;
    inside.on('error', () => {});
    inside.on('connection', (socket) => {
      if (this.#isClosed) return breakOff(socket);
      this.#track(socket);
      this.#http.emit('connection', socket);
    });
    if (this.#isClosed) inside.close();
  };

  close(): void {
    this.#isClosed = true;
    this.#inside?.close();
    for (const socket of this.#open) breakOff(socket);
    this.#http.close();
  }

  #track(socket: Duplex): void {
    this.#open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#open.delete(socket));
  }

  #ask(method: string, path: string, headers: readonly string[]) {
    const { socketPath } = this.#proxy;
    const all = [...headers, 'proxy-authorization', this.#authorization];
    const asked = request({ socketPath, method, path, headers: all, agent: false });
    asked.once('socket', (socket) => {
      this.#track(socket);
      socket.once('connect', () => this.#reached.add(asked));
    });
    return asked;
  }

  #connect(target: string, client: Duplex, head: Buffer): void {
    const asked = this.#ask('CONNECT', target, ['host', target]);
    const refuse = (status: number, reason: RefusedHost['reason']) => {
      this.refused.note(target, reason);
      const text = textOf(reason, target);
      client.end(
        `HTTP/1.1 ${status} Refused\r\ntoolfabric-egress: ${reason}\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
      );
    };
    client.once('close', () => asked.destroy());
    asked.once('error', () => (this.#reached.has(asked) ? breakOff(client) : refuse(502, 'egress_unavailable')));
    asked.once('connect', (answer, upstream, first) => {
      const { statusCode = 502 } = answer;
      const reason = reasonOf(answer.headers) ?? (statusCode === 200 ? undefined : 'request_malformed');
      if (reason !== undefined) {
        upstream.destroy();
        return refuse(statusCode, reason);
      }
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (first.length > 0) client.write(first);
      if (head.length > 0) upstream.write(head);
      pipeline(client, upstream, (failed) => failed && upstream.destroy());
      pipeline(upstream, client, (failed) => failed && breakOff(client));
    });
    asked.end();
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    const { method = 'GET', url = '' } = asked;
    // A request to the egress itself: no program has any business with that.
    if (!ABSOLUTE.test(url)) return refuse(answer, 'target_malformed', '(no host)');
    const host = hostIn(url);
    if (asked.socket.destroyed) return;
    if (this.#waiting >= MOST_REQUESTS) {
      this.refused.note(host, 'too_many_connections');
      return breakOff(asked.socket);
    }
    const sent = this.#ask(method, url, without(asked.rawHeaders, OWN_HEADERS));
    this.#waiting += 1;
    sent.once('close', () => {
      this.#waiting -= 1;
    });
    answer.once('close', () => sent.destroy());
    sent.once('error', () => {
      if (answer.headersSent || this.#reached.has(sent)) return breakOff(asked.socket);
      this.refused.note(host, 'egress_unavailable');
      refuse(answer, 'egress_unavailable', host);
    });
    sent.once('response', (got) => {
      const reason = reasonOf(got.headers);
      if (reason !== undefined) this.refused.note(host, reason);
      orBreakOff(asked.socket, () => {
        answer.writeHead(got.statusCode ?? 502, without(got.rawHeaders, OWN_ANSWER_HEADERS));
        pipeline(got, answer, (failed) => failed && breakOff(asked.socket));
      });
    });
    pipeline(asked, sent, () => {});
  }
}
