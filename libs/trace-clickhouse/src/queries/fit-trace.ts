import type { TRACE_RPC } from '@toolfabric/contract';
import type { z } from 'zod';
import { MAX_ANSWER_BYTES, sizeOf } from './answer-size.ts';

type Reply = z.output<(typeof TRACE_RPC)['getTrace']['reply']>;

const FEW = 25;

const shorter = (text: string): string => text.slice(0, Math.floor(text.length / 2)).toWellFormed();

/** One step towards less: the longer payload first, then the many spans, then the many events. */
const reduce = (reply: Reply): Reply => {
  const longest = reply.payloads.reduce((most, { text }) => Math.max(most, text.length), 0);
  if (longest > 4_000)
    return {
      ...reply,
      payloads: reply.payloads.map((payload) =>
        payload.text.length === longest ? { ...payload, text: shorter(payload.text), cut: true } : payload,
      ),
    };
  if (reply.spans.length > FEW) return { ...reply, spans: reply.spans.slice(0, reply.spans.length / 2), cut: true };
  if (reply.events.length > FEW) return { ...reply, events: reply.events.slice(0, reply.events.length / 2), cut: true };
  const bare = <T extends { attributes: object }>(rows: readonly T[]): T[] =>
    rows.map((row) => ({ ...row, attributes: {} }));
  return { ...reply, events: bare(reply.events), spans: bare(reply.spans), payloads: [], cut: true };
};

/** The reply within the bytes of one message; whatever is left out is said by a `cut`. */
export const fitTrace = (reply: Reply): Reply => {
  let fitted = reply;
  for (let step = 0; step < 32 && sizeOf(fitted) > MAX_ANSWER_BYTES; step += 1) fitted = reduce(fitted);
  return fitted;
};
