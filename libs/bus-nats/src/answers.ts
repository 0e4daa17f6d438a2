import type { Msg } from '@nats-io/transport-node';
import { QueueFull, RevisionConflict, type Stored, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { type BusLink, type HeaderMap, NoAnswer } from './link.ts';

/** What the stream interface of the server answers, checked as far as it is used. */
export const ApiError = z.object({
  code: z.number(),
  err_code: z.number().optional(),
  description: z.string().default(''),
});
export type ApiError = z.infer<typeof ApiError>;

const PubAck = z.object({
  seq: z.number().default(0),
  duplicate: z.boolean().default(false),
  error: ApiError.optional(),
});

const FoundMessage = z.object({
  error: ApiError.optional(),
  message: z
    .object({ subject: z.string(), seq: z.number(), data: z.string().default(''), hdrs: z.string().optional() })
    .optional(),
});

const StreamState = z.object({
  error: ApiError.optional(),
  total: z.number().default(0),
  limit: z.number().default(0),
  state: z.object({ last_seq: z.number(), subjects: z.record(z.string(), z.number()).optional() }).optional(),
});

export const API_ERROR = {
  wrongLastSequence: 10071,
  noMessage: 10037,
  sequenceNotFound: 10043,
  deleteFailed: 10057,
  storeFailed: 10077,
  noResources: 10023,
  noStorage: 10047,
  tooLarge: 10054,
} as const;

/** Everything that is not an answer, as the one error of a store. */
export const unavailable = (error: unknown): StoreUnavailable =>
  error instanceof StoreUnavailable ? error : new StoreUnavailable(messageOf(error), { cause: error });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no answer');

/** Throws when the text is no JSON or has another shape: a server that speaks otherwise counts as unavailable. */
export const parseAnswer = <T>(schema: z.ZodType<T>, message: Msg): T => {
  try {
    return schema.parse(JSON.parse(textOf(message.data)));
  } catch (error) {
    throw new StoreUnavailable('the bus answered in an unknown form', { cause: error });
  }
};

export const textOf = (data: Uint8Array): string =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8');

/** Stores one message. Throws `RevisionConflict`, `QueueFull` (both: nothing stored) or `StoreUnavailable`. */
export const storeMessage = async (
  link: BusLink,
  subject: string,
  data: Uint8Array | string,
  header?: HeaderMap,
): Promise<Stored> => {
  const answer = await link.request(subject, data, header).catch((error) => Promise.reject(unavailable(error)));
  const { seq, duplicate, error } = parseAnswer(PubAck, answer);
  if (error === undefined) return { sequence: seq, duplicate };
  if (error.err_code === API_ERROR.wrongLastSequence) throw new RevisionConflict(error.description);
  if (isFull(error)) throw new QueueFull(error.description);
  throw new StoreUnavailable(error.description);
};

const isFull = ({ err_code }: ApiError): boolean =>
  err_code === API_ERROR.storeFailed || err_code === API_ERROR.noResources || err_code === API_ERROR.noStorage;

export type StoredMessage = {
  readonly subject: string;
  readonly seq: number;
  readonly data: Buffer;
  readonly hdrs?: string;
};

/** Reads are repeated once when the connection broke under them: nothing can be done twice by that. */
const ask = async <T extends { error?: ApiError | undefined }>(
  link: BusLink,
  schema: z.ZodType<T>,
  subject: string,
  body: unknown,
): Promise<T> => {
  const text = JSON.stringify(body);
  const answer = await link
    .request(subject, text)
    .catch((error) =>
      error instanceof NoAnswer && error.reason === 'disconnected'
        ? link.request(subject, text)
        : Promise.reject(error),
    )
    .catch((error) => Promise.reject(unavailable(error)));
  return parseAnswer(schema, answer);
};

/** The message with this sequence, the last one on this subject, or the first from a sequence on; undefined when there is none. */
export const findMessage = async (
  link: BusLink,
  subject: string,
  query: { seq: number; next_by_subj?: string } | { last_by_subj: string },
): Promise<StoredMessage | undefined> => {
  const { error, message } = await ask(link, FoundMessage, subject, query);
  if (error?.err_code === API_ERROR.noMessage) return undefined;
  if (error !== undefined || message === undefined) throw new StoreUnavailable(error?.description ?? 'empty answer');
  const { hdrs } = message;
  return {
    subject: message.subject,
    seq: message.seq,
    data: Buffer.from(message.data, 'base64'),
    ...(hdrs === undefined ? {} : { hdrs: Buffer.from(hdrs, 'base64').toString('utf8') }),
  };
};

const Deleted = z.object({ success: z.boolean().default(false), error: ApiError.optional() });

/** False when there was no such message any more. */
export const deleteMessage = async (link: BusLink, subject: string, seq: number): Promise<boolean> => {
  const answer = await link
    .request(subject, JSON.stringify({ seq, no_erase: true }))
    .catch((error) => Promise.reject(unavailable(error)));
  const { success, error } = parseAnswer(Deleted, answer);
  if (error === undefined) return success;
  const gone = [API_ERROR.sequenceNotFound, API_ERROR.noMessage, API_ERROR.deleteFailed].includes(
    error.err_code as 10043,
  );
  if (gone) return false;
  throw new StoreUnavailable(error.description);
};

/** The sequence of the last message that was ever stored. */
export const lastSequence = async (link: BusLink, infoSubject: string): Promise<number> => {
  const { error, state } = await ask(link, StreamState, infoSubject, {});
  if (error !== undefined || state === undefined) throw new StoreUnavailable(error?.description ?? 'empty answer');
  return state.last_seq;
};

const StreamFill = z.object({
  error: ApiError.optional(),
  config: z.object({ max_bytes: z.number() }).optional(),
  state: z.object({ bytes: z.number() }).optional(),
});

/** The share of its bytes that a stream uses; 0 for one without a limit. */
export const usedShare = async (link: BusLink, infoSubject: string): Promise<number> => {
  const { error, config, state } = await ask(link, StreamFill, infoSubject, {});
  if (error !== undefined || config === undefined || state === undefined)
    throw new StoreUnavailable(error?.description ?? 'empty answer');
  return config.max_bytes > 0 ? state.bytes / config.max_bytes : 0;
};

/** Subjects below a filter that hold a message, page by page. */
export const listSubjects = async (link: BusLink, infoSubject: string, filter: string): Promise<string[]> => {
  const found: string[] = [];
  for (;;) {
    const answer = await ask(link, StreamState, infoSubject, { subjects_filter: filter, offset: found.length });
    if (answer.error !== undefined) throw new StoreUnavailable(answer.error.description);
    const page = Object.keys(answer.state?.subjects ?? {});
    found.push(...page);
    if (page.length === 0 || found.length >= answer.total) return found;
  }
};
