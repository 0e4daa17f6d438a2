import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { EgressRefusal } from '@toolfabric/contract';
import type { CustomFetchOptions } from 'oauth4webapi';
import { Refused, reasonOf } from '../refuse.ts';
import { openWay, type WaySettings } from './open-way.ts';

/** No whole answer came. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly reason: EgressRefusal;
  /** Something of the request may have reached the server, which may have acted on it. */
  readonly isSent: boolean;

  constructor(reason: EgressRefusal, isSent: boolean) {
    super(`no answer (${reason})`);
    this.reason = reason;
    this.isSent = isSent;
  }
}

export interface FetchSettings extends WaySettings {
  /** For one request and its whole answer. */
  readonly requestMs: number;
}

const MOST_BYTES = 256 * 1024;
const WITHOUT_BODY = [204, 205, 304];

type Options = CustomFetchOptions<string, unknown>;
export type GuardedFetch = (url: string, options: Options) => Promise<Response>;

const readBody = async (answer: IncomingMessage): Promise<Buffer> => {
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Refused('response_malformed');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Refused('budget_exceeded');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const asResponse = async (answer: IncomingMessage): Promise<Response> => {
  const body = await readBody(answer);
  const { statusCode: status = 0, headers } = answer;
  if (status < 200 || status > 599) throw new Refused('response_malformed');
  const flat = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value ?? '')]);
  return new Response(WITHOUT_BODY.includes(status) ? null : new Uint8Array(body), { status, headers: flat });
};

const exchange = async (socket: Socket, path: string, host: string, options: Options, signal: AbortSignal) => {
  const { method, headers } = options;
  const body = options.body === undefined || options.body === null ? '' : String(options.body);
  const sent = { ...headers, host, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const asked = request({
    method,
    path,
    headers: method === 'GET' ? { ...headers, host, connection: 'close' } : sent,
    setDefaultHeaders: false,
    createConnection: () => socket,
    signal,
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).on('error', reject);
    asked.once('upgrade', () => reject(new Refused('response_malformed')));
    asked.once('close', () => reject(new Refused('host_broke')));
  });
  asked.end(body);
  return asResponse(await answer);
};

const brokenBy = (thrown: unknown, signal: AbortSignal): EgressRefusal =>
  signal.aborted ? 'time_exceeded' : reasonOf(thrown, 'host_broke');

/**
 * A `fetch` for what is said to one authorisation server: through the own decisions of this egress, without redirects,
 * within its time and with a bounded answer that is read whole: nobody who stops waiting ends it, since what the server
 * then did would stay unknown. Rejects with `NoAnswer`.
 */
export const createGuardedFetch =
  (issuer: URL, settings: FetchSettings): GuardedFetch =>
  async (text, options) => {
    const signal = AbortSignal.timeout(settings.requestMs);
    let way: Awaited<ReturnType<typeof openWay>>;
    try {
      way = await openWay(new URL(text), options.method, issuer, settings, signal);
    } catch (thrown) {
      throw new NoAnswer(brokenBy(thrown, signal), false);
    }
    const { socket, path, host } = way;
    socket.on('error', () => {});
    try {
      return await exchange(socket, path, host, options, signal);
    } catch (thrown) {
      throw new NoAnswer(brokenBy(thrown, signal), true);
    } finally {
      socket.destroy();
    }
  };
