/**
 * One request to the artifact store.
 *
 * C1 A body is not begun before the store asked for it (`expect: 100-continue`): what is refused costs nothing, and a
 *    stale connection is found out while the request may still be repeated.
 * C2 Every request ends by its signal, and by the silence of the store while we wait for it.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import type { Envelope } from '@toolfabric/contract';
import { StoreUnavailable } from '@toolfabric/ports';
import { Silence } from './silence.ts';

export interface HttpOptions {
  /** Of the store: `http://…` or `https://…`, without a path. */
  readonly url: string;
  /** PEM of the authority that signed its certificate, when it is not a public one. */
  readonly ca?: string;
  /** Milliseconds without a byte from the store while it is our turn to wait. */
  readonly idleMs?: number;
}

export interface Outgoing {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** With its query; every part encoded. */
  readonly path: string;
  readonly permit: Envelope;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array;
  readonly signal: AbortSignal;
  /** Milliseconds without a byte; the client's own when left out. */
  readonly answerMs?: number;
}

/** An answer whose body is still to be read, and how long the store may be silent over it, in milliseconds. */
export type Answer = IncomingMessage & { readonly idleMs: number };

const IDLE_MS = 60_000;
const MAX_SOCKETS = 128;

export class HttpClient {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #ca: string | undefined;
  readonly #idleMs: number;
  readonly #options: HttpOptions;
  readonly #traceparent: string | undefined;

  constructor(options: HttpOptions, shared?: { readonly agent: Agent; readonly traceparent: string }) {
    const { url, ca, idleMs = IDLE_MS } = options;
    this.#options = options;
    this.#url = new URL(url);
    const agentOptions = { keepAlive: true, maxSockets: MAX_SOCKETS };
    const makeAgent = () => (this.#url.protocol === 'https:' ? new TlsAgent(agentOptions) : new Agent(agentOptions));
    this.#agent = shared?.agent ?? makeAgent();
    this.#ca = ca;
    this.#idleMs = idleMs;
    this.#traceparent = shared?.traceparent;
  }

  /** The same connections, for requests that belong to a trace. */
  within(traceparent: string | undefined): HttpClient {
    return traceparent === undefined ? this : new HttpClient(this.#options, { agent: this.#agent, traceparent });
  }

  /** Resolves with the answer, whatever its status; its body is still to be read. Throws `StoreUnavailable` without one. */
  async send(outgoing: Outgoing): Promise<Answer> {
    outgoing.signal.throwIfAborted();
    const request = this.#open(outgoing);
    const idleMs = outgoing.answerMs ?? this.#idleMs;
    const silence = new Silence(idleMs, (error) => request.destroy(error));
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.on('error', reject);
    });
    try {
      const sent = sendBody(request, outgoing.body, answered, silence);
      const [answer] = await Promise.all([sent.then(() => silence.during(answered)), answered]);
      if (!request.writableEnded) answer.once('close', () => request.destroy());
      return Object.assign(answer, { idleMs });
    } catch (thrown) {
      request.destroy();
      outgoing.signal.throwIfAborted();
      if (thrown instanceof BodyFailure) throw thrown.cause;
      throw new StoreUnavailable('the artifact store did not answer', { cause: thrown });
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #open({ method, path, permit, headers, body, signal }: Outgoing): ClientRequest {
    const isStreamed = body !== undefined && !(body instanceof Uint8Array);
    const options = {
      method,
      path,
      hostname: this.#url.hostname.replace(/^\[|\]$/g, ''),
      port: this.#url.port,
      agent: this.#agent,
      signal,
      headers: {
        ...headers,
        authorization: `Permit ${Buffer.from(JSON.stringify(permit)).toString('base64url')}`,
        ...(this.#traceparent === undefined ? {} : { traceparent: this.#traceparent }),
        ...(body instanceof Uint8Array ? { 'content-length': body.byteLength } : {}),
        ...(isStreamed ? { expect: '100-continue' } : {}),
      },
    };
    if (this.#url.protocol !== 'https:') return requestPlain(options);
    return requestTls({ ...options, ...(this.#ca === undefined ? {} : { ca: this.#ca }) });
  }
}

/** Ends early when the store answers before it has everything: then it does not want the rest. */
const sendBody = async (
  request: ClientRequest,
  body: Outgoing['body'],
  answered: Promise<unknown>,
  silence: Silence,
): Promise<void> => {
  if (body === undefined || body instanceof Uint8Array) {
    request.end(body);
    return;
  }
  let isOver = false;
  const onOver = () => {
    isOver = true;
  };
  const over = answered.then(onOver, onOver);
  request.flushHeaders();
  await silence.during(Promise.race([heard(request, 'continue'), over])); // C1
  if (isOver) return;
  for await (const chunk of failingAs(body)) {
    if (isOver) return;
    if (!request.write(chunk)) await silence.during(Promise.race([heard(request, 'drain'), over]));
  }
  if (!isOver) request.end();
};

const heard = (request: ClientRequest, event: 'continue' | 'drain'): Promise<void> =>
  new Promise((resolve) => request.once(event, () => resolve()));

/** What the source of a body threw, apart from what the connection did. */
export class BodyFailure extends Error {
  override readonly name = 'BodyFailure';
}

async function* failingAs(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (thrown) {
    throw new BodyFailure('the body ended with an error', { cause: thrown });
  }
}
