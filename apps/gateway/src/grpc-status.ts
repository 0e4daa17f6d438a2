import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ERROR_TABLE, type ErrorType } from '@toolfabric/contract';
import { toFabricError } from '@toolfabric/kernel';
import { ERROR_METADATA_KEY, encodeErrorMetadata } from '@toolfabric/proto';

/** The gRPC code of each error type; one that is not named here is `UNAVAILABLE` when retryable, else `FAILED_PRECONDITION`. */
const CODES: Readonly<Partial<Record<ErrorType, status>>> = {
  unauthenticated: status.UNAUTHENTICATED,
  forbidden: status.PERMISSION_DENIED,
  denied_by_policy: status.PERMISSION_DENIED,
  invalid_request: status.INVALID_ARGUMENT,
  invalid_arguments: status.INVALID_ARGUMENT,
  contract_invalid: status.INVALID_ARGUMENT,
  too_deep: status.INVALID_ARGUMENT,
  request_key_out_of_range: status.INVALID_ARGUMENT,
  too_large: status.RESOURCE_EXHAUSTED,
  overloaded: status.RESOURCE_EXHAUSTED,
  conflict: status.ALREADY_EXISTS,
  incompatible_change: status.ALREADY_EXISTS,
  not_found: status.NOT_FOUND,
  unknown_tool: status.NOT_FOUND,
  unknown_version: status.NOT_FOUND,
  internal: status.INTERNAL,
};

export const grpcCodeOf = (type: ErrorType): status =>
  CODES[type] ?? (ERROR_TABLE[type].retryable ? status.UNAVAILABLE : status.FAILED_PRECONDITION);

const DETAILS_CHARACTERS = 200;

/** The status of a failed request: a short text for people, and the whole error in the trailing metadata. */
export const toServiceError = (thrown: unknown): ServiceError => {
  const error = toFabricError(thrown).toToolError();
  const metadata = new Metadata();
  metadata.set(ERROR_METADATA_KEY, encodeErrorMetadata(error));
  // The cut may fall inside a pair of surrogates, which cannot be written into a header.
  const details = error.message.slice(0, DETAILS_CHARACTERS).toWellFormed();
  return Object.assign(new Error(details), { code: grpcCodeOf(error.type), details, metadata });
};
