import type { IncomingMessage, ServerResponse } from 'node:http';
import { isExcepted, rulesFor } from '../decide/decide.ts';
import type { EgressContext } from '../egress-context.ts';
import { sendRefusal } from '../http/send-refusal.ts';
import type { OpenPermit } from '../permits/open-permit.ts';
import { Refused, reasonOf } from '../refuse.ts';
import { parseAbsolute, type Target } from '../target/parse-target.ts';
import { proxyToken } from './authenticate.ts';
import { forwardRequest } from './forward-request.ts';
import { Outlet } from './outlet.ts';
import { tell, tellEnd, type Way } from './way.ts';

/** A request in absolute form: plain HTTP, each with a connection of its own to its host. Never rejects. */
export const handlePlain = async (ctx: EgressContext, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const since = ctx.clock.monotonic();
  const seen: { permit?: OpenPermit; target?: Target } = {};
  try {
    seen.permit = ctx.table.find(proxyToken(req.headers));
    const { target, path } = parseAbsolute(req.url ?? '');
    seen.target = target;
    if (isExcepted(seen.permit.permit.except, target)) throw new Refused('host_not_permitted');
    const rules = rulesFor(seen.permit.rules, target, 'http');
    const connection = seen.permit.connect(ctx.limits);
    await forwardOnce(ctx, { permit: seen.permit, connection, target, scheme: 'http', rules, since }, req, res, path);
  } catch (thrown) {
    const reason = reasonOf(thrown, 'request_malformed');
    const { host, port } = seen.target ?? {};
    const where = host === undefined || port === undefined ? {} : { host, port };
    if (seen.permit !== undefined) tell(ctx, seen.permit, since, { verdict: 'refused', reason, ...where });
    sendRefusal(res, reason);
  }
};

const forwardOnce = async (
  ctx: EgressContext,
  way: Way,
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
): Promise<void> => {
  const { socket } = req;
  way.connection.hold(socket, true);
  tellEnd(ctx, way);
  res.once('close', () => {
    way.connection.release(socket);
    way.connection.end(undefined, !res.writableFinished);
  });
  await forwardRequest(ctx, way, new Outlet(ctx, way), req, res, path);
};
