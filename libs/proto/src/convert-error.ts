import { ERROR_TABLE, type ErrorType, type FieldError, Layer, type ToolError } from '@toolfabric/contract';
import { enumCodec } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/result.ts';

const layers = enumCodec('layer', wire.Layer, Layer.options);

export const toolErrorToWire = (error: ToolError): wire.ToolError => ({
  type: error.type,
  layer: layers.toWire(error.layer) as wire.Layer,
  message: error.message,
  retryable: error.retryable,
  retryAfterMs: error.retryAfterMs,
  hint: error.hint,
  fields: (error.fields ?? []).map(({ field, expected, got, hint }) => ({ field, expected, got, hint })),
});

const isErrorType = (type: string): type is ErrorType => Object.hasOwn(ERROR_TABLE, type);

/** A type that this side does not know becomes `internal`; what the caller may do (retryable, hint) is kept. */
export const toolErrorFromWire = (error: wire.ToolError): ToolError => {
  const type = isErrorType(error.type) ? error.type : 'internal';
  return {
    type,
    layer: layers.known(error.layer) ?? ERROR_TABLE[type].layer,
    message: error.message,
    retryable: error.retryable,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.fields.length === 0 ? {} : { fields: error.fields.map(fieldFromWire) }),
  };
};

const fieldFromWire = ({ field, expected, got, hint }: wire.FieldError): FieldError => ({
  field,
  expected,
  ...(got === undefined ? {} : { got }),
  ...(hint === undefined ? {} : { hint }),
});
