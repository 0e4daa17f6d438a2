import type { CallOptions, ClientReadableStream, Metadata } from '@grpc/grpc-js';
import { fromServiceError } from './from-service-error.ts';

/** One server-streaming method of a generated client, bound to it. */
export type StreamMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
) => ClientReadableStream<Response>;

/**
 * The messages of one stream, no faster than they are read; ends it when its reader goes away. Rejects with a
 * `FabricError`, or with the reason of the signal. `onOpen` is called when the other side has begun to answer, which it
 * may do long before the first message.
 */
export async function* serverStream<Request, Response>(
  method: StreamMethod<Request, Response>,
  request: Request,
  metadata: Metadata,
  leftMs: number,
  signal: AbortSignal | undefined,
  onOpen: () => void = () => {},
): AsyncGenerator<Response, void, void> {
  signal?.throwIfAborted();
  const deadline = Number.isFinite(leftMs) ? { deadline: Date.now() + Math.max(1, leftMs) } : {};
  const stream = method(request, metadata, deadline);
  stream.once('metadata', onOpen);
  const cancel = () => stream.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  // An error of the reader must not pass for one of the stream: so the messages are asked for one by one.
  const messages = stream[Symbol.asyncIterator]() as AsyncIterator<Response>;
  try {
    for (;;) {
      const next = await messages.next().catch((thrown: unknown) => {
        signal?.throwIfAborted();
        throw fromServiceError(thrown);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener('abort', cancel);
    // Cancelling a stream that nobody reads any more emits an error.
    stream.on('error', () => {});
    cancel();
  }
}
