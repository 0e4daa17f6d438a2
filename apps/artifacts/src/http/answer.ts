import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ErrorType } from '@toolfabric/contract';
import { type FabricError, systemClock } from '@toolfabric/kernel';

const STATUS: Partial<Record<ErrorType, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  invalid_request: 400,
  artifact_quota: 507,
  overloaded: 503,
  unavailable: 503,
};
const SAFE = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** What a sender may still send after a refusal, so that it comes to reading the answer. */
const LINGER_MS = 2_000;

export const answerJson = (response: ServerResponse, value: unknown): void => {
  const text = JSON.stringify(value);
  response.writeHead(200, { ...SAFE, 'content-length': Buffer.byteLength(text) }).end(text);
};

export const answerEmpty = (response: ServerResponse): void => {
  response.writeHead(204, { 'cache-control': 'no-store' }).end();
};

/**
 * Sends `{error}`, unless an answer has begun: then the connection breaks, so that half of one is never taken for the
 * whole. A body that is still coming is thrown away for a moment before the connection closes.
 */
export const answerError = async (
  request: IncomingMessage,
  response: ServerResponse,
  error: FabricError,
): Promise<void> => {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = JSON.stringify({ error: error.toToolError() });
  response.writeHead(STATUS[error.type] ?? 500, {
    ...SAFE,
    'content-length': Buffer.byteLength(text),
    ...extraHeaders(error),
    ...(request.complete ? {} : { connection: 'close' }),
  });
  response.write(text);
  if (!request.complete) await linger(request);
  response.end();
};

const extraHeaders = ({ type, details: { retryAfterMs } }: FabricError): OutgoingHttpHeaders => {
  if (type === 'unauthenticated') return { 'www-authenticate': 'Permit' };
  return retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
};

const linger = async (request: IncomingMessage): Promise<void> => {
  const ended = new Promise<void>((resolve) => request.once('close', resolve).once('end', resolve));
  const late = new AbortController();
  request.on('error', () => {});
  request.resume();
  await Promise.race([ended, systemClock.sleep(LINGER_MS, late.signal)]);
  late.abort();
};
