import type { IncomingMessage } from 'node:http';
import { ToolError } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import type { Answer } from './http-client.ts';
import { Silence } from './silence.ts';

const MAX_JSON_BYTES = 4 * 1024 * 1024;
const Failure = z.object({ error: ToolError });

/** What the store says may still have happened, or happens again later: it is not known what it took. */
const NOT_KNOWN = new Set(['unavailable', 'internal']);

/** The body of a good answer. Throws `FabricError` for what the store refused, `StoreUnavailable` for everything else. */
export const readAnswer = async <T>(answer: Answer, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> => {
  await checkAnswer(answer, signal);
  const parsed = schema.safeParse(await readJson(answer, signal));
  if (!parsed.success) throw new StoreUnavailable('the artifact store answered in an unknown form');
  return parsed.data;
};

/** Resolves for a good answer, whose body is still to be read. */
export const checkAnswer = async (answer: Answer, signal: AbortSignal): Promise<void> => {
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return;
  const failure = Failure.safeParse(await readJson(answer, signal));
  if (!failure.success) throw new StoreUnavailable(`the artifact store answered ${statusCode}`);
  const { error } = failure.data;
  if (NOT_KNOWN.has(error.type)) throw new StoreUnavailable(error.message);
  throw FabricError.fromToolError(error);
};

const readJson = async (answer: Answer, signal: AbortSignal): Promise<unknown> => {
  const parts: Buffer[] = [];
  let size = 0;
  const silence = new Silence(answer.idleMs, (error) => answer.destroy(error));
  const chunks = (answer as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await silence.during(chunks.next());
      if (next.done) break;
      size += next.value.byteLength;
      if (size > MAX_JSON_BYTES) throw new Error('too much');
      parts.push(next.value);
    }
    return size === 0 ? undefined : JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch (thrown) {
    answer.destroy();
    signal.throwIfAborted();
    throw new StoreUnavailable('the answer of the artifact store broke off', { cause: thrown });
  }
};

/** Throws the answer away, so that its connection can be used again. */
export const dropAnswer = (answer: IncomingMessage): void => {
  answer.on('error', () => {});
  answer.resume();
};
