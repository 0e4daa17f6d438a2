import type { IncomingMessage } from 'node:http';
import type { Envelope } from '@toolfabric/contract';
import { type ByteRange, StoreUnavailable } from '@toolfabric/ports';
import type { HttpClient } from './http-client.ts';
import { checkAnswer, dropAnswer } from './read-answer.ts';
import { repeatRequest } from './repeat-request.ts';
import { Silence } from './silence.ts';

const RANGE_NOT_THERE = 416;
const SILENCE_MS = 60_000;

/**
 * The bytes of an artifact, as fast as they are taken. A range that begins at or behind the end is empty. Throws
 * `StoreUnavailable` when they break off; what was given out before was right.
 */
export async function* readBytes(
  client: HttpClient,
  permit: Envelope,
  id: string,
  range: ByteRange | undefined,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  if (range?.to !== undefined && range.to <= range.from) return;
  const headers =
    range === undefined ? {} : { range: `bytes=${range.from}-${range.to === undefined ? '' : range.to - 1}` };
  const path = `/v1/artifacts/${encodeURIComponent(id)}`;
  const answer = await repeatRequest(async () => {
    const begun = await client.send({ method: 'GET', path, permit, headers, signal });
    if (begun.statusCode === RANGE_NOT_THERE) return dropAnswer(begun);
    await checkAnswer(begun, signal);
    return begun;
  }, signal);
  if (answer) yield* chunksOf(answer, signal);
}

async function* chunksOf(answer: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const silence = new Silence(SILENCE_MS, (error) => answer.destroy(error));
  const chunks = (answer as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      // A reader may take its time between two chunks.
      const next = await silence.during(chunks.next());
      if (next.done) return;
      yield next.value;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw new StoreUnavailable('the bytes of the artifact broke off', { cause: thrown });
  } finally {
    answer.destroy();
  }
}
