import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

export interface Head {
  /** What came so far, at most the limit, decoded as UTF-8. Whole lines when more came: half of one may hide a secret. */
  text(): string;
}

/** Keeps the first `limit` bytes of a stream and drops the rest, so that a talkative program fills no memory. */
export const headOf = (stream: Readable, limit: number): Head => {
  const decoder = new StringDecoder('utf8');
  let kept = 0;
  let text = '';
  let isCut = false;
  stream.on('data', (chunk: Buffer) => {
    if (kept >= limit) isCut ||= chunk.length > 0;
    if (kept >= limit) return;
    isCut = chunk.length > limit - kept;
    const part = chunk.subarray(0, limit - kept);
    kept += part.length;
    text += decoder.write(part);
  });
  return { text: () => (isCut ? text.slice(0, text.lastIndexOf('\n') + 1) : text) };
};
