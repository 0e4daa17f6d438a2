import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Shown } from '../credential-source.ts';
import type { Rule } from '../decide/compile-rules.ts';
import { ruleForRequest } from '../decide/decide.ts';
import type { EgressContext } from '../egress-context.ts';
import { sendRefusal } from '../http/send-refusal.ts';
import { Refused, reasonOf } from '../refuse.ts';
import { normalisePath } from '../target/normalise-path.ts';
import { checkRequest, endToEnd, type Headers, headBytes, requestHeaders } from './forwarded-headers.ts';
import { maskSecrets, type SecretMask } from './mask-secrets.ts';
import type { Outlet } from './outlet.ts';
import { pass } from './pass.ts';
import { unpack } from './unpack.ts';
import { tell, type Way } from './way.ts';

interface Allowed {
  readonly rule: Rule;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  /** Over what the host answers. */
  readonly mask: SecretMask | undefined;
  readonly as: Shown['as'];
}

/** Everything that is decided of one request, before anything of it goes out. */
const allow = async (ctx: EgressContext, way: Way, req: IncomingMessage, text: string): Promise<Allowed> => {
  checkRequest(req, way.target, ctx.limits.headerCount);
  if (req.headers.upgrade !== undefined) throw new Refused('upgrade_not_permitted');
  const method = req.method ?? '';
  const path = normalisePath(
    text,
    way.rules.some(({ written }) => written.paths !== undefined),
  );
  const rule = ruleForRequest(way.rules, method, path);
  const shown = await shownFor(ctx, way, rule, method, path);
  const mask = maskSecrets(shown.secrets);
  // What comes packed has to be unpacked to be looked through.
  const injected = mask === undefined ? shown.headers : { ...shown.headers, 'accept-encoding': 'identity' };
  const headers = requestHeaders(req, way.target, way.scheme, injected);
  // Of a secret cut in two by ranges, neither half would be known.
  if (mask !== undefined) for (const name of ['range', 'if-range']) delete headers[name];
  return { rule, method, path, mask, as: shown.as, headers };
};

const NOTHING_SHOWN: Shown = { headers: {}, secrets: [] };

const shownFor = async (ctx: EgressContext, way: Way, rule: Rule, method: string, path: string): Promise<Shown> => {
  const { credential } = rule.written;
  if (credential === undefined) return NOTHING_SHOWN;
  // It would come back to the client.
  if (method === 'TRACE') throw new Refused('method_not_permitted');
  way.connection.credentials.add(credential);
  const use = { host: way.target.host, port: way.target.port, method, path };
  return ctx.credentials.headersFor(way.permit.permit, rule.written, use, way.connection.signal);
};

const tellAllowed = (
  ctx: EgressContext,
  way: Way,
  { rule, method, path, as }: Allowed,
  address: string | undefined,
) => {
  const { paths, credential } = rule.written;
  tell(ctx, way.permit, way.since, {
    verdict: 'allowed',
    host: way.target.host,
    port: way.target.port,
    scheme: way.scheme,
    rule: rule.index,
    method,
    pathLength: path.length,
    ...(address === undefined ? {} : { address }),
    ...(paths === undefined ? {} : { path }),
    ...(credential === undefined ? {} : { credential }),
    ...(as === undefined ? {} : { account: as.account, credentialVersion: as.version }),
  });
};

/** One request of a client to the host and the answer back, both streamed; refused or broken ones answer with why. */
export const forwardRequest = async (
  ctx: EgressContext,
  way: Way,
  outlet: Outlet,
  req: IncomingMessage,
  res: ServerResponse,
  text: string,
): Promise<void> => {
  outlet.begin();
  res.once('close', () => outlet.finish());
  try {
    const allowed = await allow(ctx, way, req, text);
    if (way.connection.isEnded) throw new Refused(way.connection.reason ?? 'permit_closed');
    await exchange(ctx, way, outlet, allowed, req, res);
  } catch (thrown) {
    const { host, port } = way.target;
    const reason = way.connection.reason ?? reasonOf(thrown, 'connect_failed');
    tell(ctx, way.permit, way.since, { verdict: 'refused', reason, host, port, scheme: way.scheme });
    sendRefusal(res, reason);
  }
};

/** Resolves when the answer was given whole. Throws what kept it from coming; a connection that broke half way is cut. */
const exchange = (
  ctx: EgressContext,
  way: Way,
  outlet: Outlet,
  allowed: Allowed,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { method, path, headers, rule } = allowed;
  const { connection } = way;
  connection.count('out', headBytes(`${method} ${path}`, headers));
  const asked = request({ method, path, headers, agent: outlet.agentFor(rule), setDefaultHeaders: false });
  const onClientGone = () => asked.destroy();
  res.once('close', onClientGone);
  let isSent = false;
  asked.once('socket', (socket) => {
    isSent = true;
    tellAllowed(ctx, way, allowed, socket.remoteAddress);
  });
  asked.once('error', (thrown) => {
    // As it would be without a door between: the client tries again by itself.
    if (asked.reusedSocket && !res.headersSent) connection.end();
    reject(thrown instanceof Refused ? thrown : brokenBy(thrown, isSent));
  });
  // Nothing asked for it, and nothing could hold it to the rules.
  asked.once('upgrade', (_, socket) => {
    socket.destroy();
    reject(new Refused('response_malformed'));
  });
  asked.once('response', (answer) => {
    answerWith(way, allowed, answer, res).then(
      () => {
        res.off('close', onClientGone);
        resolve();
      },
      (thrown: unknown) => reject(spoiltBy(thrown)),
    );
  });
  pass(req, asked, connection, 'out').catch((thrown: unknown) => {
    asked.destroy();
    reject(thrown);
  });
  return promise;
};

const brokenBy = (thrown: NodeJS.ErrnoException, isSent: boolean): Refused => {
  if (thrown.code?.startsWith('HPE_')) return new Refused('response_malformed', thrown);
  return new Refused(isSent ? 'host_broke' : 'connect_failed', thrown);
};

/** The host had the request by then: whatever is wrong with its answer is never said to be wrong with what was asked. */
const spoiltBy = (thrown: unknown): Refused =>
  thrown instanceof Refused && thrown.reason !== 'request_malformed'
    ? thrown
    : new Refused('response_malformed', thrown);

/** What the client is given: as it came, or looked through for what must not come back. */
const answerWith = async (
  { connection }: Way,
  { mask, method }: Pick<Allowed, 'mask' | 'method'>,
  answer: IncomingMessage,
  res: ServerResponse,
): Promise<void> => {
  const came = endToEnd(answer.rawHeaders);
  const { headers, layers } = mask === undefined ? { headers: came, layers: [] } : unpack(answer, came, method);
  const shown = mask?.headers(headers) ?? headers;
  connection.count('in', headBytes(`${answer.statusMessage}`, shown));
  res.writeHead(answer.statusCode ?? 502, shown);
  res.flushHeaders();
  if (mask === undefined) return pass(answer, res, connection, 'in');
  const stages = [...layers, ...(layers.length === 0 ? [] : [counting(connection)]), mask.body()] as const;
  const looked = pipeline([...stages, res]).catch((thrown: unknown) => {
    throw thrown instanceof Refused ? thrown : new Refused('response_malformed', thrown);
  });
  const [first = res] = stages;
  await Promise.all([looked, pass(answer, first, connection, 'in')]);
};

/** What was packed counts in its whole size too. */
const counting = (connection: Way['connection']): Transform =>
  new Transform({
    transform(chunk: Buffer, _, done) {
      try {
        connection.count('in', chunk.length);
        done(null, chunk);
      } catch (thrown) {
        done(thrown as Error);
      }
    },
  });
