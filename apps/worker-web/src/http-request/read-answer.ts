import { depthOf, type Json } from '@toolfabric/kernel';
import type { EgressResponse } from '@toolfabric/ports';
import { decodeText } from '../content/charset.ts';
import { type BodyLimits, decodeBody } from '../content/decode-body.ts';
import { formOf, parseMediaType } from '../content/media-type.ts';

/** What an answer may take; what is longer is cut, and then it is no JSON any more. */
export const ANSWER_LIMITS: BodyLimits = {
  maxBytes: 4 * 1024 ** 2,
  maxEncodings: 2,
  maxRatio: 100,
  ratioFromBytes: 256 * 1024,
};
const MAX_DEPTH = 40;

/** The body of an answer. Every text of it was written by the outside. */
export type AnswerBody =
  | { readonly form: 'none' }
  | { readonly form: 'json'; readonly value: Json; readonly bytes: Buffer }
  | { readonly form: 'text'; readonly text: string; readonly bytes: Buffer; readonly isCut: boolean }
  | { readonly form: 'bytes'; readonly bytes: Buffer; readonly isCut: boolean };

export interface Answer {
  readonly status: number;
  readonly headers: EgressResponse['headers'];
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly body: AnswerBody;
}

/** JSON within the depth that a message may have; undefined for anything else, whatever it calls itself. */
const parseJson = (text: string): Json | undefined => {
  try {
    const value = JSON.parse(text) as Json;
    return depthOf(value, MAX_DEPTH) > MAX_DEPTH ? undefined : value;
  } catch {
    return undefined;
  }
};

const bodyOf = (contentType: string | undefined, bytes: Buffer, isCut: boolean): AnswerBody => {
  if (bytes.length === 0) return { form: 'none' };
  const media = parseMediaType(contentType);
  const form = formOf(media, bytes);
  const isUntyped = contentType === undefined || media.essence === 'application/octet-stream';
  const text = form === 'binary' || form === 'pdf' ? undefined : decodeText(bytes, media.charset, form === 'html').text;
  const value = (form === 'json' || isUntyped) && !isCut ? parseJson(text ?? bytes.toString('utf8')) : undefined;
  if (value !== undefined) return { form: 'json', value, bytes };
  return text === undefined ? { form: 'bytes', bytes, isCut } : { form: 'text', text, bytes, isCut };
};

/**
 * An answer with its body read to the end, or to its limit. Throws `content_refused` for encodings that are unknown,
 * broken or blown up, and whatever the connection broke with.
 */
export const readAnswer = async (response: EgressResponse, signal: AbortSignal): Promise<Answer> => {
  const { status, headers } = response;
  try {
    const { bytes, isCut } = await decodeBody(response.body, headers['content-encoding'], ANSWER_LIMITS, signal);
    const { essence } = parseMediaType(headers['content-type']);
    return { status, headers, mediaType: essence, body: bodyOf(headers['content-type'], bytes, isCut) };
  } finally {
    response.discard();
  }
};
