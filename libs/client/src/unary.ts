import type { CallOptions, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';

/** One unary method of a generated client, bound to it. */
export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** One attempt. `leftMs` becomes the deadline that the gateway sees too. */
export const unary = <Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  metadata: Metadata,
  leftMs: number,
  signal: AbortSignal | undefined,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const call = method(request, metadata, { deadline: Date.now() + Math.max(1, leftMs) }, (error, response) => {
      signal?.removeEventListener('abort', cancel);
      if (error) reject(error);
      else resolve(response);
    });
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
