import type { IncomingMessage, ServerResponse } from 'node:http';
import { FabricError } from '@toolfabric/kernel';
import type { z } from 'zod';
import { answerJson } from './answer.ts';
import { collectBody } from './stream-body.ts';

/** One request with its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when the other side is gone. */
  readonly signal: AbortSignal;
  /** The body, from its beginning: to be asked for once. It may take its time until `until`, in milliseconds since the epoch. */
  body(until?: number): AsyncIterable<Uint8Array>;
}

const MAX_JSON_BYTES = 16 * 1024;

/** Throws `invalid_request` for a body that is not of this shape. */
export const readJson = async <T>(exchange: Exchange, schema: z.ZodType<T>, most = MAX_JSON_BYTES): Promise<T> => {
  const text = Buffer.from(await collectBody(exchange.body(), most)).toString('utf8');
  const parsed = schema.safeParse(parseOrNothing(text));
  if (!parsed.success) throw new FabricError('invalid_request', 'the body is not what this route takes');
  return parsed.data;
};

const parseOrNothing = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const replyJson = ({ response }: Exchange, value: unknown): void => answerJson(response, value);

/** Bytes that the request announces; undefined for a chunked one. */
export const announcedBytes = ({ request }: Exchange): number | undefined => {
  const header = request.headers['content-length'];
  return header === undefined ? undefined : Number(header);
};
