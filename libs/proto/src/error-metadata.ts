import { ERROR_TABLE, type ErrorType, FieldError, Layer, type ToolError } from '@toolfabric/contract';
import { z } from 'zod';

/** Key of the trailing metadata in which a failed request carries its whole `ToolError` as JSON. */
export const ERROR_METADATA_KEY = 'toolfabric-error-bin';

/** Header blocks are small: what does not fit loses fields first, then the end of its message. */
const MAX_BYTES = 6 * 1024;

export const encodeErrorMetadata = (error: ToolError): Buffer => {
  const { fields, ...rest } = error;
  for (let kept = fields?.length ?? 0; kept > 0; kept >>= 1) {
    const bytes = toBytes({ ...rest, fields: fields?.slice(0, kept) });
    if (bytes.length <= MAX_BYTES) return bytes;
  }
  const bytes = toBytes(rest);
  if (bytes.length <= MAX_BYTES) return bytes;
  return toBytes({ ...rest, message: rest.message.slice(0, 512), hint: rest.hint?.slice(0, 256) });
};

const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** As an older client must read it: types and fields may have been added since. */
const Received = z.object({
  type: z.string(),
  layer: Layer.optional().catch(undefined),
  message: z.string(),
  retryable: z.boolean(),
  retryAfterMs: z.int().nonnegative().optional().catch(undefined),
  hint: z.string().optional(),
  fields: z.array(FieldError).optional().catch(undefined),
});

/** Undefined when it is no `ToolError` at all. A type that is not known here becomes `internal`. */
export const decodeErrorMetadata = (value: Uint8Array): ToolError | undefined => {
  const received = Received.safeParse(parseOrUndefined(Buffer.from(value).toString('utf8')));
  if (!received.success) return undefined;
  const { type: name, layer, message, retryable, retryAfterMs, hint, fields } = received.data;
  const type = Object.hasOwn(ERROR_TABLE, name) ? (name as ErrorType) : 'internal';
  return {
    type,
    layer: layer ?? ERROR_TABLE[type].layer,
    message,
    retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(hint === undefined ? {} : { hint }),
    ...(fields === undefined ? {} : { fields }),
  };
};

const parseOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
