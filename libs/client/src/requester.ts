import type { Metadata } from '@grpc/grpc-js';
import { type Clock, FabricError } from '@toolfabric/kernel';
import { requestMetadata } from './channel.ts';
import type { RequestOptions } from './client-types.ts';
import { fromServiceError } from './from-service-error.ts';
import { retryUnavailable } from './retry-unavailable.ts';
import { type UnaryMethod, unary } from './unary.ts';

/** Milliseconds for a request whose caller gave no timeout. */
export const REQUEST_MS = 15_000;

/** Sends requests with the token, within their timeout, and again while the gateway is unavailable. */
export class Requester {
  readonly clock: Clock;
  readonly metadata: Metadata;
  readonly #token: string;

  constructor(token: string, clock: Clock) {
    this.clock = clock;
    this.#token = token;
    this.metadata = requestMetadata(token);
  }

  /** `convert` throws where the answer is not understood. */
  ask<Request, Response, T>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    convert: (response: Response) => T,
    { signal, timeoutMs = REQUEST_MS }: RequestOptions,
    metadata: Metadata = this.metadata,
  ): Promise<T> {
    const { clock } = this;
    const until = clock.monotonic() + timeoutMs;
    const attempt = async () => convert(await unary(method, request, metadata, until - clock.monotonic(), signal));
    return retryUnavailable(attempt, { until, signal, clock });
  }

  /** For what cannot be done twice: one attempt. */
  async askOnce<Request, Response, T>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    convert: (response: Response) => T,
    { signal, timeoutMs = REQUEST_MS }: RequestOptions,
  ): Promise<T> {
    try {
      return convert(await unary(method, request, this.metadata, timeoutMs, signal));
    } catch (thrown) {
      signal?.throwIfAborted();
      throw fromServiceError(thrown);
    }
  }

  metadataWith(traceparent: string | undefined): Metadata {
    return traceparent === undefined ? this.metadata : requestMetadata(this.#token, traceparent);
  }
}

/** The field of an answer that is always there. */
export const present = <T>(value: T | undefined): T => {
  if (value === undefined) throw new FabricError('internal', 'the gateway answered without an answer');
  return value;
};
