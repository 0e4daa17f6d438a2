import type { Socket } from 'node:net';
import type { Rule } from '../decide/compile-rules.ts';
import { dial } from '../dial/dial.ts';
import { resolveAllowed } from '../dial/resolve.ts';
import type { EgressContext } from '../egress-context.ts';
import { Refused } from '../refuse.ts';
import { secureUpstream } from '../tls/secure-upstream.ts';
import type { Way } from './way.ts';

/** A new TCP connection to the target, decided anew: resolved, checked, and dialled to exactly what was checked. */
export const openTcp = async (ctx: EgressContext, way: Pick<Way, 'connection' | 'target'>, rule: Rule) => {
  const { connection, target } = way;
  const addresses = await resolveAllowed(target, rule, ctx.resolver, ctx.limits, connection.signal);
  const socket = await dial(addresses, target.port, ctx.limits, connection.signal);
  connection.hold(socket);
  if (connection.isEnded) throw new Refused(connection.reason ?? 'permit_closed');
  return socket;
};

/** The same, with TLS in it for `https`: for an exchange that is read. */
export const openUpstream = async (ctx: EgressContext, way: Way, rule: Rule): Promise<Socket> => {
  const socket = await openTcp(ctx, way, rule);
  if (way.scheme === 'http') return socket;
  const secured = await secureUpstream(socket, way.target, ctx.ca, rule.written.keys, way.connection.signal);
  way.connection.hold(secured);
  return secured;
};
