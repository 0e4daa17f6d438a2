import { isUtf8 } from 'node:buffer';

/** Says whether a stream is UTF-8, wherever its chunks are cut. */
export class Utf8Check {
  #open: Uint8Array = new Uint8Array(0);
  isInvalid = false;

  push(bytes: Uint8Array): void {
    if (this.isInvalid || bytes.length === 0) return;
    const whole = this.#open.length === 0 ? bytes : Buffer.concat([this.#open, bytes]);
    const open = openLength(whole);
    this.isInvalid = !isUtf8(whole.subarray(0, whole.length - open));
    this.#open = Uint8Array.from(whole.subarray(whole.length - open));
  }

  /** A character that is cut off by the end of the stream is invalid too. */
  end(): void {
    if (this.#open.length > 0) this.isInvalid = true;
  }
}

/** Bytes at the end that begin a character and do not end it: three at most. */
const openLength = (bytes: Uint8Array): number => {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const byte = bytes[bytes.length - length] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0;
  }
  return 0;
};
