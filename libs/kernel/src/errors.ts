import { ERROR_TABLE, type ErrorType, type FieldError, type ToolError } from '@toolfabric/contract';

export interface FabricErrorDetails {
  readonly retryAfterMs?: number;
  readonly fields?: readonly FieldError[];
  readonly hint?: string;
  /** Kept for the log of this process; never sent. */
  readonly cause?: unknown;
}

/** The one error class that crosses the borders of the fabric. Its type is a row of the error table. */
export class FabricError extends Error {
  override readonly name = 'FabricError';
  readonly type: ErrorType;
  readonly details: FabricErrorDetails;

  constructor(type: ErrorType, message: string, details: FabricErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.type = type;
    this.details = details;
  }

  /** The part that is sent: type, layer, message, retry advice, hint. Never the cause. */
  toToolError(): ToolError {
    const { layer, retryable, hint } = ERROR_TABLE[this.type];
    const { retryAfterMs, fields } = this.details;
    return {
      type: this.type,
      layer,
      message: this.message.slice(0, 4096),
      retryable,
      hint: (this.details.hint ?? hint).slice(0, 1024),
      ...(retryAfterMs === undefined || !Number.isFinite(retryAfterMs)
        ? {}
        : { retryAfterMs: Math.max(0, Math.ceil(retryAfterMs)) }),
      ...(fields === undefined ? {} : { fields: fields.slice(0, 50) }),
    };
  }

  static fromToolError(error: ToolError): FabricError {
    return new FabricError(error.type, error.message, {
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      ...(error.fields === undefined ? {} : { fields: error.fields }),
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
  }
}

/** The one normaliser from anything thrown. What is not a `FabricError` becomes `fallback` without its text, which may hold caller data. */
export const toFabricError = (thrown: unknown, fallback: ErrorType = 'internal'): FabricError => {
  if (thrown instanceof FabricError) return thrown;
  const what = thrown instanceof Error ? thrown.name : typeof thrown;
  return new FabricError(fallback, `${ERROR_TABLE[fallback].meaning} (${what})`, { cause: thrown });
};
