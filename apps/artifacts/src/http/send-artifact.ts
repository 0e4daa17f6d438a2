import type { Clock } from '@toolfabric/kernel';
import type { Opened } from '../archive/read-artifact.ts';
import { downloadHeaders } from './artifact-headers.ts';
import type { Exchange } from './exchange.ts';
import { parseRange, type Wanted } from './parse-range.ts';
import { type Patience, sendBody } from './stream-body.ts';

/** Sends the whole or one range. The first bytes are read before the answer begins, so that a fault can still be told. */
export const sendArtifact = async (
  opened: Opened,
  exchange: Exchange,
  patience: Patience,
  clock: Clock,
): Promise<void> => {
  const { request, response, signal } = exchange;
  const { record } = opened;
  const headers = downloadHeaders(record);
  const wanted = wantedOf(exchange, opened);
  if (wanted.type === 'none') {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${record.size}`, 'content-length': 0 }).end();
    return;
  }
  const span = wanted.type === 'part' ? wanted.span : { from: 0, to: record.size };
  const status = wanted.type === 'part' ? 206 : 200;
  const sized = {
    ...headers,
    'content-length': span.to - span.from,
    ...(status === 206 ? { 'content-range': `bytes ${span.from}-${span.to - 1}/${record.size}` } : {}),
  };
  if (request.method === 'HEAD') {
    response.writeHead(200, { ...headers, 'content-length': record.size }).end();
    return;
  }
  let sent = 0;
  try {
    const chunks = await begun(opened.bytes(span, signal));
    response.writeHead(status, sized);
    await sendBody(
      response,
      chunks,
      (bytes) => {
        sent += bytes;
      },
      { patience, clock, signal },
    );
  } finally {
    if (response.headersSent) opened.wasRead(span.from, sent);
  }
};

const wantedOf = ({ request }: Exchange, { record }: Opened): Wanted => {
  const condition = request.headers['if-range'];
  if (condition !== undefined && condition !== `"${record.sha256}"`) return { type: 'whole' };
  return parseRange(request.headers.range, record.size);
};

/** The same chunks, with the first one read already. */
const begun = async (chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> => {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      if (first.done) return;
      yield first.value;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
};
