import { describe, expect, it } from 'vitest';
import { imageBlock } from './image-block.ts';

const png = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(40);
  Buffer.from('89504e470d0a1a0a0000000d', 'hex').copy(bytes);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
};
const gif = Buffer.from('474946383961050003000000002c', 'hex');
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080010001001011100ffd9', 'hex');

const refusal = (bytes: Uint8Array, type: string, most?: number): string => {
  try {
    imageBlock(bytes, type, most);
  } catch (error) {
    return (error as { type: string }).type;
  }
  return 'taken';
};

describe('images as content blocks', () => {
  it.each([
    ['image/png', png(10, 20)],
    ['image/gif', gif],
    ['image/jpeg', jpeg],
  ])('RS-3: takes %s', (mediaType, bytes) => {
    expect(imageBlock(bytes, mediaType)).toEqual({ type: 'image', mediaType, dataBase64: bytes.toString('base64') });
  });

  it('understands parameters and the old name of JPEG', () => {
    expect(imageBlock(jpeg, 'IMAGE/JPG; q=1').mediaType).toBe('image/jpeg');
  });

  it.each([
    ['text', Buffer.from('<svg onload="x"/>'), 'image/svg+xml', 'output_invalid'],
    ['another type than stated', png(1, 1), 'image/jpeg', 'output_invalid'],
    ['a header that is cut off', png(1, 1).subarray(0, 20), 'image/png', 'output_invalid'],
    ['no pixels', png(0, 5), 'image/png', 'output_invalid'],
    ['too many pixels', png(100_000, 5), 'image/png', 'too_large'],
    ['nothing', Buffer.alloc(0), 'image/png', 'output_invalid'],
    ['a JPEG without a frame', Buffer.from('ffd8ffd9', 'hex'), 'image/jpeg', 'output_invalid'],
  ])('refuses %s', (_, bytes, type, error) => expect(refusal(bytes, type)).toBe(error));

  it('refuses more bytes than allowed', () =>
    expect(refusal(Buffer.concat([png(9, 9), Buffer.alloc(99)]), 'image/png', 100)).toBe('too_large'));
});
