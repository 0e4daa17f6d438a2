/**
 * What every request passes before its verb runs: D1 not stopping, D2 a valid token, D3 a place for that token,
 * D4 a message that can be read. What every answer passes: D5 the token is still valid, since a request may have
 * waited for minutes. What every failure passes: one table of status codes.
 */
import type { handleServerStreamingCall, handleUnaryCall, Metadata, ServerWritableStream } from '@grpc/grpc-js';
import { type Clock, FabricError, type Logger, type Span, type Telemetry, traceparentOf } from '@toolfabric/kernel';
import { type Authenticator, authenticate, unauthenticated } from './authenticate.ts';
import { toServiceError } from './grpc-status.ts';
import { isUnreadable } from './readable-requests.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestsPerToken } from './requests-per-token.ts';
import { RequestWatch } from './watch-requests.ts';

interface SurfaceCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getDeadline(): Date | number;
  getPath(): string;
  once(event: 'cancelled', listener: () => void): unknown;
  removeListener(event: 'cancelled', listener: () => void): unknown;
}

export interface FrontDoorDeps {
  readonly identities: Authenticator;
  readonly requests: RequestsPerToken;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export class FrontDoor {
  readonly #deps: FrontDoorDeps;
  readonly #watch: RequestWatch;
  #stopping = false;

  constructor(deps: FrontDoorDeps) {
    this.#deps = deps;
    this.#watch = new RequestWatch(deps.telemetry);
  }

  /** From now on every new request is `unavailable`: the caller tries another gateway. */
  stop(): void {
    this.#stopping = true;
  }

  unary<Request, Response>(
    verb: (request: Request, context: RequestContext) => Promise<Response>,
  ): handleUnaryCall<Request, Response> {
    return (call, callback) => {
      this.#through(call, call.request, (context) => verb(call.request, context)).then(
        (response) => callback(null, response),
        (thrown) => callback(this.#failed(call, thrown)),
      );
    };
  }

  stream<Request, Response>(
    verb: (request: Request, context: RequestContext, out: ServerWritableStream<Request, Response>) => Promise<void>,
  ): handleServerStreamingCall<Request, Response> {
    return (call) => {
      this.#through(call, call.request, (context) => verb(call.request, context, call)).then(
        () => call.end(),
        (thrown) => call.emit('error', this.#failed(call, thrown)),
      );
    };
  }

  async #through<T>(call: SurfaceCall, request: unknown, verb: (context: RequestContext) => Promise<T>): Promise<T> {
    const { identities, requests, clock } = this.#deps;
    const watched = this.#watch.begin(call.getPath());
    let leave = () => {};
    try {
      if (this.#stopping) throw new FabricError('unavailable', 'this gateway is stopping'); // D1
      const identity = await authenticate(call.metadata, identities); // D2
      const span = watched.known(identity, call.metadata);
      leave = requests.enter(identity.tokenId); // D3
      if (isUnreadable(request)) throw new FabricError('invalid_request', 'the message cannot be read'); // D4
      const answer = await verb(contextOf(call, identity, clock, span));
      if (!identity.isCurrent()) throw unauthenticated(); // D5
      watched.end();
      return answer;
    } catch (thrown) {
      watched.end(thrown);
      throw thrown;
    } finally {
      leave();
    }
  }

  #failed(call: SurfaceCall, thrown: unknown) {
    const error = toServiceError(thrown);
    if (!(thrown instanceof FabricError) || thrown.type === 'internal') {
      const what = thrown instanceof Error ? thrown.name : typeof thrown;
      this.#deps.logger.error('request_failed', { verb: call.getPath(), error: what });
    }
    return error;
  }
}

const contextOf = (
  call: SurfaceCall,
  identity: RequestContext['identity'],
  clock: Clock,
  span: Span,
): RequestContext => {
  const deadline = Number(call.getDeadline());
  return {
    identity,
    span,
    traceparent: traceparentOf(span),
    leftMs: () => Math.max(0, deadline - clock.now()),
    isGone: () => call.cancelled,
    onGone(listener) {
      call.once('cancelled', listener);
      return () => call.removeListener('cancelled', listener);
    },
  };
};
