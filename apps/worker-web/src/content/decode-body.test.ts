import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BODY_LIMITS, type BodyLimits, decodeBody } from './decode-body.ts';

const LIMITS: BodyLimits = { maxBytes: 100_000, maxEncodings: 2, maxRatio: 20, ratioFromBytes: 10_000 };
const never = new AbortController().signal;
const TEXT = Buffer.from('the quick brown fox '.repeat(40));
const REFUSED = expect.objectContaining({ type: 'content_refused' });

async function* pieces(bytes: Uint8Array, size = 97) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const decode = (bytes: Uint8Array, encoding?: string, limits = LIMITS) =>
  decodeBody(pieces(bytes), encoding, limits, never);

/** Counts what is taken of it, and would never end. */
const endless = (part: Uint8Array) => {
  const taken = { parts: 0, isClosed: false };
  const body = (async function* () {
    try {
      for (;;) {
        taken.parts += 1;
        yield part;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      taken.isClosed = true;
    }
  })();
  return { taken, body };
};

describe('WB-2: a body without its encodings', () => {
  it.each([
    ['none', undefined, TEXT],
    ['identity', 'identity', TEXT],
    ['gzip', 'gzip', gzipSync(TEXT)],
    ['x-gzip, in capitals', 'X-GZIP', gzipSync(TEXT)],
    ['deflate', 'deflate', deflateSync(TEXT)],
    ['br', 'br', brotliCompressSync(TEXT)],
    ['zstd', 'zstd', zstdCompressSync(TEXT)],
    ['two, the last one outside', 'gzip, br', brotliCompressSync(gzipSync(TEXT))],
  ])('%s', async (_name, encoding, bytes) => {
    const body = await decode(bytes, encoding);
    expect(body.bytes.equals(TEXT)).toBe(true);
    expect(body).toMatchObject({ isCut: false, receivedBytes: bytes.length });
  });

  it('an empty one', async () => {
    expect(await decode(Buffer.alloc(0))).toEqual({ bytes: Buffer.alloc(0), isCut: false, receivedBytes: 0 });
  });

  it.each([
    ['a name that is not known', 'lzma', TEXT],
    ['a name of every object', 'constructor', TEXT],
    ['three', 'gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(TEXT)))],
    ['twenty', Array.from({ length: 20 }, () => 'gzip').join(','), TEXT],
    ['no gzip', 'gzip', TEXT],
    ['gzip that ends early', 'gzip', gzipSync(TEXT).subarray(0, 30)],
    ['gzip with a wrong checksum', 'gzip', Buffer.concat([gzipSync(TEXT).subarray(0, -8), Buffer.alloc(8)])],
    [
      'br that is broken inside',
      'br',
      Buffer.concat([brotliCompressSync(TEXT).subarray(0, 12), Buffer.alloc(40, 0xff)]),
    ],
  ])('refused: %s', async (_name, encoding, bytes) => {
    await expect(decode(bytes, encoding)).rejects.toEqual(REFUSED);
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(3_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(3_000_000))],
    ['zstd', zstdCompressSync(Buffer.alloc(3_000_000))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(3_000_000)))],
  ])('refused: %s that blows up', async (encoding, bytes) => {
    await expect(decode(bytes, encoding)).rejects.toEqual(REFUSED);
    await expect(decode(bytes, encoding, { ...LIMITS, maxRatio: 1e6, maxBytes: 5_000_000 })).resolves.toMatchObject({
      isCut: false,
    });
  });

  it('is cut where it is long, and read no further', async () => {
    const { taken, body } = endless(Buffer.alloc(1_000, 'a'));
    const cut = await decodeBody(body, undefined, LIMITS, never);
    expect(cut.bytes).toHaveLength(LIMITS.maxBytes);
    expect(cut.isCut).toBe(true);
    await expect.poll(() => taken.isClosed).toBe(true);
    expect(taken.parts).toBeLessThan(200);
  });

  it('is whole where it has exactly the length that is kept', async () => {
    const body = await decode(Buffer.alloc(LIMITS.maxBytes, 'a'));
    expect(body).toMatchObject({ isCut: false, receivedBytes: LIMITS.maxBytes });
  });

  it('ends at once when it is aborted, however long the other side keeps still', async () => {
    const stopping = new AbortController();
    const still = (async function* () {
      yield Buffer.from('a');
      await new Promise(() => {});
    })();
    const reading = decodeBody(still, 'gzip', LIMITS, stopping.signal);
    setImmediate(() => stopping.abort(new Error('too late')));
    await expect(reading).rejects.toThrow('too late');
    const before = AbortSignal.abort(new Error('too late before'));
    await expect(decodeBody(pieces(TEXT), undefined, LIMITS, before)).rejects.toThrow('too late before');
  });

  it('passes on why the connection broke', async () => {
    const broken = (async function* () {
      yield TEXT;
      throw new Error('socket hang up');
    })();
    await expect(decodeBody(broken, undefined, LIMITS, never)).rejects.toThrow('socket hang up');
  });

  it('has limits that a page of any honest server fits in', () => {
    expect(BODY_LIMITS).toMatchObject({ maxEncodings: 2, maxRatio: 100 });
  });
});
