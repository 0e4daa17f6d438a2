import type { ArtifactRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type ArtifactServiceClient, artifactFromWire, type ReadArtifactResponse } from '@toolfabric/proto';
import type { ArtifactRange } from './client-types.ts';
import type { Requester } from './requester.ts';
import { serverStream } from './server-stream.ts';

type Pieces = AsyncGenerator<ReadArtifactResponse, void, void>;

async function* bytesOf(pieces: Pieces): AsyncGenerator<Uint8Array, void, void> {
  for await (const { piece } of pieces) if (piece?.$case === 'data') yield piece.value;
}

/** A generator that was never asked for anything ends without a word: the stream must end with it all the same. */
const dataOf = (pieces: Pieces): AsyncGenerator<Uint8Array, void, void> => {
  const data = bytesOf(pieces);
  const end = data.return.bind(data);
  data.return = async (value) => {
    await pieces.return();
    return end(value);
  };
  return data;
};

/**
 * The description is the first message; the rest is read when the caller reads it. Whoever does not read it to its end
 * ends it by `return`, as leaving a loop does, or by the signal.
 */
export const readArtifact = async (
  client: ArtifactServiceClient,
  requester: Requester,
  artifactId: string,
  { from, to, signal, timeoutMs = Number.POSITIVE_INFINITY }: ArtifactRange,
): Promise<{ artifact: ArtifactRecord; data: AsyncGenerator<Uint8Array, void, void> }> => {
  const request = { artifactId, from, to };
  const pieces = serverStream(client.readArtifact.bind(client), request, requester.metadata, timeoutMs, signal);
  const first = await pieces.next();
  const piece = first.done ? undefined : first.value.piece;
  if (piece?.$case === 'artifact') return { artifact: artifactFromWire(piece.value), data: dataOf(pieces) };
  await pieces.return();
  throw new FabricError('internal', 'the gateway did not say what it sends');
};
