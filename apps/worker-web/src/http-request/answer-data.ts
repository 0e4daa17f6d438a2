import type { HttpOperation, Outcome } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { cleanUntrusted } from '../content/clean-untrusted.ts';
import { cleanJson } from './clean-json.ts';
import type { Answer, AnswerBody } from './read-answer.ts';

const ALWAYS_SHOWN = ['etag', 'location', 'last-modified'];
const MAX_HEADER = 1_000;

/** The part of an outcome that the other side has written. */
export type AnswerPart = Required<Pick<Outcome, 'data'>> & Pick<Outcome, 'content' | 'artifacts' | 'truncation'>;

/** Headers that the interface names, as text that can be shown. */
export const shownHeaders = ({ show = [] }: Pick<HttpOperation, 'show'>, headers: Answer['headers']) =>
  Object.fromEntries(
    [...ALWAYS_SHOWN, ...show].flatMap((name): [string, string][] => {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
      return value === undefined ? [] : [[name, cleanUntrusted(value.slice(0, MAX_HEADER)).text]];
    }),
  );

const dataOf = (body: AnswerBody): Record<string, Json> => {
  if (body.form === 'json') return { body: cleanJson(body.value) };
  if (body.form === 'text') return { text: cleanUntrusted(body.text).text };
  return {};
};

/** What is stored of it: what can be read without its secrets. */
const storedBytes = ({ redactor }: ToolContext, body: Exclude<AnswerBody, { form: 'none' }>): Uint8Array => {
  if (body.form === 'json') return Buffer.from(JSON.stringify(redactor.json(body.value)));
  return body.form === 'text' ? Buffer.from(redactor.text(body.text)) : body.bytes;
};

async function* once(bytes: Uint8Array) {
  yield bytes;
}

type Stored = { readonly id: string; readonly name: string; readonly mediaType: string } | { readonly missing: string };

/** Never rejects: an effect that was confirmed is not forgotten because its answer could not be stored. */
const store = async (ctx: ToolContext, mediaType: string, bytes: Uint8Array): Promise<Stored> => {
  if (ctx.artifacts === undefined) return { missing: 'this call may store no artifact' };
  const name = 'answer';
  try {
    const { id } = await ctx.artifacts.put({ name, mediaType, trust: 'untrusted' }, once(bytes), ctx.signal);
    return { id, name, mediaType };
  } catch (thrown) {
    return { missing: thrown instanceof FabricError ? thrown.type : 'the artifact store does not answer' };
  }
};

/** A body that is no text, or that the result has no room for, is an artifact. */
const needsStore = (body: AnswerBody, data: Json, { limits }: ToolContext): boolean =>
  body.form === 'bytes' || Buffer.byteLength(JSON.stringify(data)) > limits.outputBytes;

/**
 * An answer as data: `{status, headers}` and `body` where it is JSON, `text` where it is text. What does not fit in is
 * stored whole beside it, where the call has leave; without leave only `bytes` says how much there was.
 */
export const answerPart = async (ctx: ToolContext, operation: HttpOperation, answer: Answer): Promise<AnswerPart> => {
  const { status, headers, mediaType, body } = answer;
  const data = { status, headers: shownHeaders(operation, headers), ...dataOf(body) };
  const cut = 'isCut' in body && body.isCut;
  const truncation = cut
    ? {
        truncation: [{ stream: 'body', kept: body.bytes.length, total: body.bytes.length + 1, unit: 'bytes' as const }],
      }
    : {};
  if (body.form === 'none' || !needsStore(body, data, ctx)) return { data, ...truncation };
  const stored = await store(ctx, mediaType, storedBytes(ctx, body));
  const size = { bytes: body.bytes.length };
  if ('missing' in stored) return { data: { ...data, ...size, not_stored: stored.missing }, ...truncation };
  const block = { type: 'file' as const, name: stored.name, mediaType: stored.mediaType, artifact: stored.id };
  return { data: { ...data, ...size }, content: [block], artifacts: [stored.id], ...truncation };
};
