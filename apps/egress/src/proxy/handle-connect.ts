import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Rule } from '../decide/compile-rules.ts';
import { isExcepted, rulesFor } from '../decide/decide.ts';
import type { EgressContext } from '../egress-context.ts';
import { writeRefusal } from '../http/send-refusal.ts';
import type { OpenPermit } from '../permits/open-permit.ts';
import { Refused, reasonOf } from '../refuse.ts';
import { parseTarget, type Target } from '../target/parse-target.ts';
import { peek, readHello } from '../tls/read-client-hello.ts';
import { proxyToken } from './authenticate.ts';
import { checkRequest } from './forwarded-headers.ts';
import { openTcp } from './open-upstream.ts';
import { splice } from './splice.ts';
import type { TunnelServer } from './tunnel-server.ts';
import { tell, tellEnd, type Way } from './way.ts';

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';
const TLS_RECORD = 22;

type Opened = Omit<Way, 'scheme'>;

/** A tunnel: passed through when all its rules let it, read otherwise. Never rejects. */
export const handleConnect = async (
  ctx: EgressContext,
  tunnels: TunnelServer,
  req: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> => {
  client.on('error', () => {});
  const since = ctx.clock.monotonic();
  const seen: { permit?: OpenPermit; target?: Target; way?: Opened } = {};
  try {
    seen.permit = ctx.table.find(proxyToken(req.headers));
    seen.target = parseTarget(req.url ?? '');
    checkRequest(req, seen.target, ctx.limits.headerCount);
    if (isExcepted(seen.permit.permit.except, seen.target)) throw new Refused('host_not_permitted');
    const rules = rulesFor(seen.permit.rules, seen.target);
    if (rules.some((rule) => rule.scheme === 'https' && rule.reads) && ctx.leaves === undefined) {
      throw new Refused('tls_unavailable');
    }
    if (head.length > 0) client.unshift(head);
    seen.way = { permit: seen.permit, target: seen.target, rules, since, connection: seen.permit.connect(ctx.limits) };
    await openTunnel(ctx, tunnels, seen.way, client);
  } catch (thrown) {
    const reason = seen.way?.connection.reason ?? reasonOf(thrown, 'connect_failed');
    const { host, port } = seen.target ?? {};
    const where = host === undefined || port === undefined ? {} : { host, port };
    if (seen.permit !== undefined) tell(ctx, seen.permit, since, { verdict: 'refused', reason, ...where });
    end(seen.way, client, reason);
  }
};

const end = (way: Opened | undefined, client: Socket, reason: ReturnType<typeof reasonOf>): void => {
  if (client.bytesWritten === 0) {
    way?.connection.release(client);
    writeRefusal(client, reason);
  }
  if (way !== undefined) way.connection.end(reason);
  else if (client.bytesWritten > 0) client.destroySoon();
};

const openTunnel = async (ctx: EgressContext, tunnels: TunnelServer, way: Opened, client: Socket): Promise<void> => {
  way.connection.hold(client, true);
  tellEnd(ctx, way);
  const unread = unreadRule(way.rules);
  if (unread !== undefined) return passThrough(ctx, way, unread, client);
  client.write(ESTABLISHED);
  const type = await peek(client, (bytes) => bytes[0], ctx.limits);
  const scheme = type === TLS_RECORD ? 'https' : 'http';
  const rules = rulesFor(way.rules, way.target, scheme);
  if (scheme === 'http') return tunnels.take(client, { ...way, scheme, rules });
  // The rules for plain HTTP on this port are not about TLS.
  const passed = unreadRule(rules);
  if (passed !== undefined) return passThrough(ctx, way, passed, client, '');
  await checkHello(ctx, way.target, client);
  tunnels.take(terminate(ctx, way, client), { ...way, scheme, rules });
};

/** The first of rules none of which needs the exchange to be read. */
const unreadRule = (rules: readonly Rule[]): Rule | undefined =>
  rules.every(({ reads }) => !reads) ? rules[0] : undefined;

/** The name in the handshake must be the host; an address has none. */
const checkHello = async (ctx: EgressContext, target: Target, client: Socket): Promise<void> => {
  const { name } = await peek(client, readHello, ctx.limits);
  if (name !== (target.address === undefined ? target.host : undefined)) throw new Refused('tls_name');
};

const passThrough = async (
  ctx: EgressContext,
  way: Opened,
  rule: Rule,
  client: Socket,
  answer = ESTABLISHED,
): Promise<void> => {
  const upstream = await openTcp(ctx, way, rule);
  client.write(answer);
  await checkHello(ctx, way.target, client);
  const { host, port } = way.target;
  const address = upstream.remoteAddress ?? '';
  tell(ctx, way.permit, way.since, { verdict: 'allowed', host, port, scheme: 'https', address, rule: rule.index });
  splice(client, upstream, way.connection);
};

const terminate = (ctx: EgressContext, { target, connection }: Opened, client: Socket): Socket => {
  if (ctx.leaves === undefined) throw new Refused('tls_unavailable');
  const secureContext = ctx.leaves.contextFor(target.address ?? target.host);
  const secured = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
  connection.hold(secured, true);
  const timer = setTimeout(() => connection.end('tls_malformed'), ctx.limits.headMs);
  secured.once('secure', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  return secured;
};
