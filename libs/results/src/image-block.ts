import type { ContentBlock } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

/** Bytes of an image that fit as base64 into a result message, with room for what else it holds. */
export const MAX_IMAGE_BYTES = 30 * 1024;
/** Pixels a side; vendors of models refuse larger ones. */
const MAX_SIDE = 8000;

interface Size {
  readonly width: number;
  readonly height: number;
}

interface ImageFormat {
  readonly mediaType: string;
  matches(bytes: Buffer): boolean;
  /** Undefined when the header is broken. */
  sizeOf(bytes: Buffer): Size | undefined;
}

const startsWith = (hex: string) => (bytes: Buffer) => bytes.subarray(0, hex.length / 2).toString('hex') === hex;

const pngSize = (bytes: Buffer): Size | undefined =>
  bytes.length >= 24 && bytes.toString('latin1', 12, 16) === 'IHDR'
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;

const gifSize = (bytes: Buffer): Size | undefined =>
  bytes.length >= 10 ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) } : undefined;

/** The frame header stands behind segments that each tell their length. */
const jpegSize = (bytes: Buffer): Size | undefined => {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
};

const webpSize = (bytes: Buffer): Size | undefined => {
  if (bytes.length < 30) return undefined;
  const form = bytes.toString('latin1', 12, 16);
  if (form === 'VP8X') return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
  if (form === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (form !== 'VP8L') return undefined;
  const bits = bytes.readUInt32LE(21);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
};

const isWebp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

const FORMATS: readonly ImageFormat[] = [
  { mediaType: 'image/png', matches: startsWith('89504e470d0a1a0a'), sizeOf: pngSize },
  { mediaType: 'image/jpeg', matches: startsWith('ffd8ff'), sizeOf: jpegSize },
  { mediaType: 'image/gif', matches: startsWith('47494638'), sizeOf: gifSize },
  { mediaType: 'image/webp', matches: isWebp, sizeOf: webpSize },
];

/**
 * An image as a content block. The bytes decide its type, and the stated one must agree. Throws `output_invalid` when they
 * are no PNG, JPEG, GIF or WebP, or another one than stated, and `too_large` over `maxBytes` or 8000 pixels a side.
 */
export const imageBlock = (
  bytes: Uint8Array,
  mediaType: string,
  maxBytes: number = MAX_IMAGE_BYTES,
): Extract<ContentBlock, { type: 'image' }> => {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const format = FORMATS.find(({ matches }) => matches(view));
  if (format === undefined) throw new FabricError('output_invalid', 'the bytes are no PNG, JPEG, GIF or WebP image');
  const stated = mediaType.toLowerCase().split(';')[0]?.trim().replace('image/jpg', 'image/jpeg');
  if (stated !== format.mediaType)
    throw new FabricError('output_invalid', `the image is ${format.mediaType}, and said to be another type`);
  const size = format.sizeOf(view);
  if (size === undefined || size.width === 0 || size.height === 0)
    throw new FabricError('output_invalid', `the header of the ${format.mediaType} image is broken`);
  if (bytes.length > maxBytes || size.width > MAX_SIDE || size.height > MAX_SIDE)
    throw new FabricError(
      'too_large',
      `the image has ${bytes.length} bytes and ${size.width} × ${size.height} pixels; allowed are ${maxBytes} bytes and ${MAX_SIDE} pixels a side`,
      { hint: 'Store it as an artifact, or make it smaller.' },
    );
  return { type: 'image', mediaType: format.mediaType, dataBase64: view.toString('base64') };
};
