import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EgressContext } from '../egress-context.ts';
import { readPermit } from '../permits/read-permit.ts';
import { bearerToken } from '../proxy/authenticate.ts';
import { Refused, reasonOf } from '../refuse.ts';
import { sendRefusal } from './send-refusal.ts';

const readText = async (req: IncomingMessage, mostBytes: number): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Refused('permit_malformed');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const send = (res: ServerResponse, status: number, value: unknown): void =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const openPermit = async (ctx: EgressContext, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const text = await readText(req, ctx.limits.permitBytes);
  const { permit } = readPermit(text, ctx.verifier, ctx.kinds, ctx.clock);
  send(res, 201, { token: await ctx.table.open(permit), expires: permit.expires });
};

/**
 * What clients ask of the egress itself: `POST /v1/permits` with the signed envelope answers `{token, expires}`;
 * `DELETE /v1/permits` with `authorization: Bearer <token>` answers `{connections, bytes}` once all is closed.
 */
export const handleOwn = async (ctx: EgressContext, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  try {
    const asked = `${req.method} ${req.url}`;
    if (asked === 'POST /v1/permits') return await openPermit(ctx, req, res);
    if (asked === 'DELETE /v1/permits') return send(res, 200, await ctx.table.close(bearerToken(req.headers)));
    throw new Refused('request_malformed');
  } catch (thrown) {
    sendRefusal(res, reasonOf(thrown, 'request_malformed'));
  }
};
