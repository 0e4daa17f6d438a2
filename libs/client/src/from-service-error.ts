import { type ServiceError, status } from '@grpc/grpc-js';
import type { ErrorType } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { decodeErrorMetadata, ERROR_METADATA_KEY, WireMismatch } from '@toolfabric/proto';

/** For a status that came without the fabric's own error: from the transport, a proxy, or the gRPC layer itself. */
const BARE: Readonly<Partial<Record<status, { type: ErrorType; message: string }>>> = {
  [status.UNAVAILABLE]: { type: 'unavailable', message: 'the gateway cannot be reached' },
  [status.CANCELLED]: { type: 'unavailable', message: 'the gateway broke off the request' },
  [status.DEADLINE_EXCEEDED]: {
    type: 'unavailable',
    message: 'no answer in time; the request may have been accepted, send it again with the same request key',
  },
  [status.UNAUTHENTICATED]: { type: 'unauthenticated', message: 'the token was refused' },
  [status.PERMISSION_DENIED]: { type: 'forbidden', message: 'the request was refused' },
  [status.RESOURCE_EXHAUSTED]: { type: 'too_large', message: 'the request is larger than the gateway accepts' },
  [status.UNIMPLEMENTED]: { type: 'invalid_request', message: 'the gateway does not know this verb' },
};

/** Anything thrown by the channel or a conversion, as a `FabricError`. Keeps the cause. */
export const fromServiceError = (thrown: unknown): FabricError => {
  if (thrown instanceof FabricError) return thrown;
  if (thrown instanceof WireMismatch) {
    const message = `the gateway and this client do not speak the same revision: ${thrown.message}`;
    return new FabricError('internal', message, { cause: thrown, hint: 'Update the client.' });
  }
  if (!isServiceError(thrown)) {
    return new FabricError('internal', 'the client failed', { cause: thrown });
  }
  const carried = thrown.metadata?.get(ERROR_METADATA_KEY)[0];
  const sent = carried instanceof Uint8Array ? decodeErrorMetadata(carried) : undefined;
  if (sent !== undefined) return FabricError.fromToolError(sent);
  // A connection that breaks under a running request shows as an internal error of the stream.
  const broken = thrown.code === status.INTERNAL && thrown.details.startsWith('Received RST_STREAM');
  const bare = BARE[broken ? status.UNAVAILABLE : thrown.code];
  return new FabricError(bare?.type ?? 'internal', bare?.message ?? 'the gateway failed', { cause: thrown });
};

const isServiceError = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof Error && 'code' in thrown && 'details' in thrown && typeof thrown.details === 'string';
