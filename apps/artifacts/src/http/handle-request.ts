import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ArtifactPermit } from '@toolfabric/contract';
import { FabricError, type Logger, toFabricError, type Verifier } from '@toolfabric/kernel';
import { isShortOfDescriptors, toStoreError } from '../store/to-store-error.ts';
import { answerError } from './answer.ts';
import { type RouteContext, serveRoute } from './artifact-routes.ts';
import { checkPermit } from './check-permit.ts';
import type { Exchange } from './exchange.ts';
import { parseRoute } from './parse-route.ts';
import { patientUntil, receiveBody } from './stream-body.ts';
import type { RequestWatch } from './watch-request.ts';

export interface HandlerContext extends RouteContext {
  readonly verifier: Verifier;
  readonly logger: Logger;
  readonly watch: RequestWatch;
  /** Whether new requests are taken. */
  readonly isReady: () => boolean;
  /** Gives up connections on which nothing is asked. */
  readonly closeIdle: () => void;
}

/** Answers every request; never throws. `mustInvite` is for a sender that waits until it is told to go on. */
export const createHandler =
  (ctx: HandlerContext, mustInvite: boolean): RequestListener =>
  (request, response) => {
    // A connection that breaks is no fault of ours; what was under way ends by its signal.
    request.on('error', () => {});
    response.on('error', () => {});
    const { pending } = ctx.archive.ctx;
    const answered = answer(ctx, request, response, mustInvite)
      .catch((thrown: unknown) => {
        ctx.logger.error('answer_failed', { error: thrown instanceof Error ? thrown.name : typeof thrown });
        response.destroy();
      })
      .finally(() => pending.delete(answered));
    pending.add(answered);
  };

const answer = async (
  ctx: HandlerContext,
  request: IncomingMessage,
  response: ServerResponse,
  mustInvite: boolean,
): Promise<void> => {
  if (answerHealth(ctx, request, response)) return;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const watched = ctx.watch.begin(traceparentIn(request));
  let permit: ArtifactPermit | undefined;
  let code: string | undefined;
  try {
    if (!ctx.isReady()) throw new FabricError('unavailable', 'the artifact store takes no requests');
    const route = parseRoute(request.method ?? '', request.url ?? '');
    permit = checkPermit(request.headers.authorization, ctx.verifier, ctx.clock);
    watched.permitted(permit, route.type);
    await serveRoute(ctx, route, permit, exchangeOf(ctx, request, response, mustInvite, gone.signal));
  } catch (thrown) {
    const error = normalise(thrown);
    code = gone.signal.aborted ? 'cancelled' : error.type;
    if (gone.signal.aborted) return;
    tell(ctx, error, permit);
    // Kept for a next request, they would hold what this one needs for a minute.
    if (isShortOfDescriptors(error.details.cause)) ctx.closeIdle();
    await answerError(request, response, error);
  } finally {
    watched.end(code);
  }
};

const traceparentIn = ({ headers }: IncomingMessage): string | undefined => {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
};

const exchangeOf = (
  { patience, clock }: HandlerContext,
  request: IncomingMessage,
  response: ServerResponse,
  mustInvite: boolean,
  signal: AbortSignal,
): Exchange => ({
  request,
  response,
  signal,
  body: (until) => {
    const begin = () => mustInvite && response.writeContinue();
    return receiveBody(request, begin, until === undefined ? patience : patientUntil(until, patience, clock), clock);
  },
});

const answerHealth = (ctx: HandlerContext, { method, url }: IncomingMessage, response: ServerResponse): boolean => {
  if (method !== 'GET' || (url !== '/healthz' && url !== '/readyz')) return false;
  const ok = url === '/healthz' || ctx.isReady();
  response.writeHead(ok ? 200 : 503, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
  response.end(ok ? 'ok\n' : 'not ok\n');
  return true;
};

/** Errors of the storage have codes; anything else is our own fault. */
const normalise = (thrown: unknown): FabricError =>
  thrown instanceof Error && ('code' in thrown || '$metadata' in thrown) ? toStoreError(thrown) : toFabricError(thrown);

const tell = ({ archive, logger }: HandlerContext, error: FabricError, permit: ArtifactPermit | undefined): void => {
  const { type } = error;
  if (type === 'internal' || type === 'unavailable' || type === 'overloaded') {
    const { cause } = error;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
    logger.error('request_failed', { type, code, cause: cause instanceof Error ? cause.name : undefined });
  }
  if (!permit) return;
  const callId = 'callId' in permit ? permit.callId : undefined;
  archive.ctx.events.refused(permit.actor, callId, { reason: type, action: permit.action });
};
