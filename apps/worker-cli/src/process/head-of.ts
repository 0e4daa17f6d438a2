import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

export interface Head {
  /** What came so far, at most the limit, decoded as UTF-8. */
  text(): string;
}

/** Keeps the first `limit` bytes of a stream and drops the rest, so that a talkative program fills no memory. */
export const headOf = (stream: Readable, limit: number): Head => {
  const decoder = new StringDecoder('utf8');
  let kept = 0;
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (kept >= limit) return;
    const part = chunk.subarray(0, limit - kept);
    kept += part.length;
    text += decoder.write(part);
  });
  return { text: () => text };
};
