import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { artifactToWire, type ReadArtifactRequest, type ReadArtifactResponse } from '@toolfabric/proto';
import { type ArtifactAccess, storeFailure } from './artifact-access.ts';
import { unauthenticated } from './authenticate.ts';
import { endWithRequest } from './end-with-request.ts';
import { invalidField } from './invalid-request.ts';
import type { RequestContext } from './request-context.ts';

/** Bytes of one message: well below what a client of the default size takes. */
const PIECE_BYTES = 256 * 1024;

export type Out<Response> = Pick<ServerWritableStream<unknown, Response>, 'write' | 'once'>;

/** Waits for a slow reader; resolves also when it went away. */
export const send = async <Response>(out: Out<Response>, message: Response, gone: AbortSignal): Promise<void> => {
  if (out.write(message) || gone.aborted) return;
  await once(out as never, 'drain', { signal: gone }).catch(() => {});
};

const rangeOf = ({ from, to }: ReadArtifactRequest) => {
  if (from === undefined && to === undefined) return undefined;
  if (to !== undefined && to <= (from ?? 0)) throw invalidField('to', 'a number above `from`');
  return { from: from ?? 0, ...(to === undefined ? {} : { to }) };
};

/** Sends the description, then the bytes as fast as they are read. A token that is taken back ends it. */
export const readArtifact = (
  access: ArtifactAccess,
  request: ReadArtifactRequest,
  context: RequestContext,
  out: Out<ReadArtifactResponse>,
): Promise<void> =>
  endWithRequest(context, async (signal) => {
    const range = rangeOf(request);
    const { front, permit, artifactId } = await access.forArtifact(request.artifactId, 'read', context);
    try {
      const record = await front.describe(permit, artifactId, signal);
      await send(out, { piece: { $case: 'artifact', value: artifactToWire(record) } }, signal);
      for await (const bytes of front.read(permit, artifactId, range, signal)) {
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          if (signal.aborted) return;
          if (!context.identity.isCurrent()) throw unauthenticated();
          const value = Buffer.from(bytes.subarray(at, at + PIECE_BYTES));
          await send(out, { piece: { $case: 'data', value } }, signal);
        }
      }
    } catch (thrown) {
      if (!signal.aborted) throw storeFailure(thrown);
    }
  });
