import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { SecureContext } from 'node:tls';
import { EgressPermit, type EgressRule, type Envelope } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import {
  type EgressProxy,
  type EgressRequest,
  type EgressResponse,
  type EgressSession,
  RequestBroken,
} from '@toolfabric/ports';
import { closePermit, openPermit } from './permit-client.ts';
import { errorOf, refusalIn } from './refusal.ts';
import { TunnelAgent } from './tunnel-agent.ts';

export interface SessionOptions {
  readonly socketPath: string;
  readonly secureContext: SecureContext;
  readonly caFile?: string;
}

const SAFE_METHODS = ['GET', 'HEAD'];
/** Milliseconds in which the egress is asked to close what this session opened. */
const CLOSE_MS = 10_000;

interface Open {
  readonly token: string;
  readonly authorization: string;
  readonly tunnels: TunnelAgent;
  readonly plain: Agent;
}

/** Whether TLS to a host of the rule ends at the egress, which then vouches for it. */
const endsTls = ({ scheme = 'https', methods, paths, credential, keys }: EgressRule): boolean =>
  scheme === 'https' && [methods, paths, credential, keys].some(Boolean);

const vouches = ({ body }: Envelope): boolean => EgressPermit.parse(JSON.parse(body)).rules.some(endsTls);

const joined = ({ rawHeaders }: IncomingMessage): Record<string, string> => {
  const headers: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const value = rawHeaders[at + 1] ?? '';
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
};

/** One call's way out: the permit is opened once, at the first use, and all of it ends with `close`. */
export class HttpEgressSession implements EgressSession {
  readonly #options: SessionOptions;
  readonly #permit: Envelope;
  readonly #over = new AbortController();
  #open: Promise<Open> | undefined;

  constructor(options: SessionOptions, permit: Envelope) {
    this.#options = options;
    this.#permit = permit;
  }

  async request(asked: EgressRequest): Promise<EgressResponse> {
    asked.signal.throwIfAborted();
    const open = await this.#opened(asked.signal);
    const { answer, sent } = await this.#send(open, asked);
    const refusal = refusalIn(answer.headers);
    if (refusal !== undefined) {
      sent.destroy();
      throw errorOf(refusal, asked.url.host, true);
    }
    return {
      status: answer.statusCode ?? 0,
      headers: joined(answer),
      body: answer as AsyncIterable<Uint8Array>,
      discard: () => void answer.destroy(),
    };
  }

  async proxy(signal: AbortSignal): Promise<EgressProxy> {
    const { token } = await this.#opened(signal);
    const { socketPath, caFile } = this.#options;
    return { socketPath, token, ...(caFile === undefined || !vouches(this.#permit) ? {} : { caFile }) };
  }

  async close(): Promise<void> {
    this.#over.abort(new FabricError('egress_unavailable', 'the way out of this call is closed'));
    const open = await this.#open?.catch(() => undefined);
    if (open === undefined) return;
    open.tunnels.destroy();
    open.plain.destroy();
    await closePermit(this.#options.socketPath, open.token, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined);
  }

  /** The same for all who ask; one that failed is tried again by whoever asks next. */
  #opened(signal: AbortSignal): Promise<Open> {
    this.#over.signal.throwIfAborted();
    this.#open ??= this.#openOnce(signal).catch((thrown: unknown) => {
      this.#open = undefined;
      throw thrown;
    });
    return this.#open;
  }

  async #openOnce(signal: AbortSignal): Promise<Open> {
    const { socketPath, secureContext } = this.#options;
    const token = await openPermit(socketPath, this.#permit, AbortSignal.any([signal, this.#over.signal]));
    const authorization = `Basic ${Buffer.from(`call:${token}`).toString('base64')}`;
    return {
      token,
      authorization,
      tunnels: new TunnelAgent({ socketPath, secureContext, authorization, signal: this.#over.signal }),
      plain: new Agent({ keepAlive: true, maxSockets: 16, maxFreeSockets: 4 }),
    };
  }

  #start(open: Open, { method, url, headers, body, signal }: EgressRequest): ClientRequest {
    const until = AbortSignal.any([signal, this.#over.signal]);
    const length = body === undefined ? {} : { 'content-length': String(body.byteLength) };
    const sent = { ...headers, host: url.host, ...length };
    if (url.protocol === 'https:') {
      const { port, pathname, search } = url;
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const path = `${pathname}${search}`;
      const target = { host, path, port: port === '' ? 443 : Number(port) };
      return requestTls({ ...target, method, headers: sent, agent: open.tunnels, signal: until });
    }
    const { socketPath } = this.#options;
    const withToken = { ...sent, 'proxy-authorization': open.authorization };
    return requestPlain({ socketPath, method, path: url.href, headers: withToken, agent: open.plain, signal: until });
  }

  /** Resolves with the head of the answer. Throws `RequestBroken` when none came after the request was handed over. */
  #send(open: Open, asked: EgressRequest): Promise<{ answer: IncomingMessage; sent: ClientRequest }> {
    const sent = this.#start(open, asked);
    let handed = false;
    return new Promise((resolve, reject) => {
      sent.once('socket', () => {
        handed = true;
      });
      sent.once('response', (answer) => resolve({ answer, sent }));
      sent.once('error', (thrown) => {
        if (asked.signal.aborted) return reject(asked.signal.reason);
        if (thrown instanceof FabricError && !handed) return reject(thrown);
        // The host closed a kept connection between two requests: what changes nothing is asked again on a new one.
        if (sent.reusedSocket && SAFE_METHODS.includes(asked.method)) return resolve(this.#send(open, asked));
        if (handed) return reject(new RequestBroken('the connection broke before an answer came', { cause: thrown }));
        reject(new FabricError('egress_unavailable', 'the egress of this worker does not answer', { cause: thrown }));
      });
      sent.end(asked.body);
    });
  }
}
