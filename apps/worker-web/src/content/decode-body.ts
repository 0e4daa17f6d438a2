import { Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { FabricError } from '@toolfabric/kernel';

export interface BodyLimits {
  /** Decoded bytes that are kept; the rest is not read. */
  readonly maxBytes: number;
  /** Encodings one inside the other. */
  readonly maxEncodings: number;
  /** Decoded bytes for each byte that came, once more than `ratioFromBytes` are decoded. */
  readonly maxRatio: number;
  readonly ratioFromBytes: number;
}

export const BODY_LIMITS: BodyLimits = {
  maxBytes: 8 * 1024 ** 2,
  maxEncodings: 2,
  maxRatio: 100,
  ratioFromBytes: 256 * 1024,
};

export interface DecodedBody {
  readonly bytes: Buffer;
  /** There was more than is kept. */
  readonly isCut: boolean;
  /** Bytes that came, as they were encoded. */
  readonly receivedBytes: number;
}

const refused = (message: string): FabricError => new FabricError('content_refused', message);

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Innermost last, as the header lists them. Throws `content_refused` for one that is not known, and for too many. */
const decodersOf = (header: string | undefined, { maxEncodings }: BodyLimits): Transform[] => {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > maxEncodings)
    throw refused(`the body has ${names.length} encodings one inside the other; at most ${maxEncodings} are taken off`);
  return names.toReversed().map((name) => {
    const make = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (make === undefined) throw refused('the body has an encoding that is not known');
    return make();
  });
};

/** Counts what comes in before it is decoded. */
const counted = (body: AsyncIterable<Uint8Array>, count: (bytes: number) => void): Readable =>
  Readable.from(
    (async function* () {
      for await (const part of body) {
        count(part.byteLength);
        yield part;
      }
    })(),
  );

/**
 * The bytes of a body without its encodings, bounded while they stream: no more is read than is kept. What is longer is
 * cut, which `isCut` says.
 *
 * Rejects with `content_refused` for encodings that are unknown, broken, too many, or that blow a body up beyond
 * `maxRatio`; with the reason of `signal` when that is aborted; with the error of `body` when that ends early.
 */
export const decodeBody = async (
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string | undefined,
  limits: BodyLimits,
  signal: AbortSignal,
): Promise<DecodedBody> => {
  const decoders = decodersOf(contentEncoding, limits);
  let receivedBytes = 0;
  let sourceError: unknown;
  const source = counted(body, (bytes) => {
    receivedBytes += bytes;
  });
  source.once('error', (thrown) => {
    sourceError ??= thrown;
  });
  const chain = [source, ...decoders];
  const decoded = chain.reduce((from: Readable, to) => {
    from.once('error', (thrown) => to.destroy(thrown));
    return from.pipe(to as Transform);
  });
  const parts: Buffer[] = [];
  let size = 0;
  const abort = () => decoded.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    for await (const part of decoded as AsyncIterable<Buffer>) {
      const room = limits.maxBytes - size;
      size += part.byteLength;
      if (size > limits.ratioFromBytes && size > limits.maxRatio * receivedBytes)
        throw refused(`the body grows more than ${limits.maxRatio} times when it is decoded`);
      parts.push(part.byteLength > room ? part.subarray(0, room) : part);
      if (size > limits.maxBytes) break;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof FabricError) throw thrown;
    if (sourceError !== undefined || decoders.length === 0) throw sourceError ?? thrown;
    throw refused('the body is not encoded as its headers say');
  } finally {
    signal.removeEventListener('abort', abort);
    for (const stream of chain) stream.destroy();
  }
  return { bytes: Buffer.concat(parts), isCut: size > limits.maxBytes, receivedBytes };
};
