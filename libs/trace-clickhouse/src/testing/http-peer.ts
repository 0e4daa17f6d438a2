import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { EngineKeeper } from '../engine/engine-keeper.ts';
import { EngineRefusal } from '../engine/engine-process.ts';

export interface HttpPeer {
  readonly url: string;
  /** Settings that came with inserts. */
  readonly insertSettings: Record<string, string>[];
  /** What every request is answered with instead, when set. */
  fault: { status: number; code: number; name: string } | undefined;
  stop(): Promise<void>;
}

const UNESCAPED: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', "'": "'", '\\': '\\' };

/** Parameters come escaped, as between tabs. */
const withoutEscapes = (value: string): string =>
  value.startsWith('[') ? value : value.replace(/\\(.)/gs, (_, letter: string) => UNESCAPED[letter] ?? letter);

const INSERT = /^INSERT INTO (\S+) FORMAT JSONEachRow\s*$/;
const WAIT_MS = 15_000;

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const body = await buffer(request);
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
};

/**
 * The part of the HTTP interface of a ClickHouse server that the store uses, in front of a real embedded engine: one
 * user with a password, statements in the body, rows of inserts in the body, parameters and settings in the address.
 */
export const startHttpPeer = async (keeper: EngineKeeper, user: string, password: string): Promise<HttpPeer> => {
  const insertSettings: Record<string, string>[] = [];
  const credentials = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

  const refuse = (response: ServerResponse, status: number, code: number, text: string) => {
    response.writeHead(status, { 'x-clickhouse-exception-code': String(code) }).end(text);
  };

  const run = async (request: IncomingMessage): Promise<Uint8Array> => {
    const given = new URL(request.url ?? '/', 'http://peer').searchParams;
    const insert = INSERT.exec(given.get('query') ?? '')?.[1];
    const body = await bodyOf(request);
    const named = [...given].filter(([name]) => name !== 'query' && name !== 'database' && name !== 'query_id');
    if (insert !== undefined) {
      insertSettings.push(Object.fromEntries(named));
      return keeper.request({ op: 'insert', table: insert, lines: body.toString('utf8'), settings: {} }, WAIT_MS);
    }
    const params = named
      .filter(([name]) => name.startsWith('param_'))
      .map(([name, value]) => [name.slice('param_'.length), withoutEscapes(value)]);
    return keeper.request({ op: 'query', sql: body.toString('utf8'), params: Object.fromEntries(params) }, WAIT_MS);
  };

  const peer: HttpPeer = {
    url: '',
    insertSettings,
    fault: undefined,
    stop: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
  const server = createServer((request, response) => {
    const { fault } = peer;
    if (fault !== undefined) {
      request.resume();
      return refuse(response, fault.status, fault.code, `Code: ${fault.code}. DB::Exception: told to. (${fault.name})`);
    }
    if (request.headers.authorization !== credentials) {
      request.resume();
      return refuse(response, 403, 516, 'Code: 516. DB::Exception: wrong password. (AUTHENTICATION_FAILED)');
    }
    run(request).then(
      (data) => response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(Buffer.from(data)),
      (error: unknown) => {
        const text = error instanceof EngineRefusal ? error.message : 'Code: 999. DB::Exception: away. (KEEPER)';
        refuse(response, 500, Number(/Code: (\d+)/.exec(text)?.[1] ?? 999), text);
      },
    );
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(peer, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
};
