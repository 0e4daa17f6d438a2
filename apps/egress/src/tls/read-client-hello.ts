import type { Socket } from 'node:net';
import { Refused } from '../refuse.ts';

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const RECORD_HEAD = 5;

/** The handshake message of the records in `bytes`; undefined while it is not whole. */
const messageOf = (bytes: Buffer): Buffer | undefined => {
  const parts: Buffer[] = [];
  for (let at = 0; at + RECORD_HEAD <= bytes.length; ) {
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== 3 || length === 0 || length > 16_384) throw malformed();
    parts.push(bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + length));
    at += RECORD_HEAD + length;
    const message = Buffer.concat(parts);
    if (message.length > 0 && message[0] !== CLIENT_HELLO) throw malformed();
    const end = message.length < 4 ? Number.POSITIVE_INFINITY : 4 + message.readUIntBE(1, 3);
    if (message.length >= end && at <= bytes.length) return message.subarray(4, end);
  }
  return undefined;
};

const malformed = () => new Refused('tls_malformed');

/** Reads fields that carry their length in front, and nothing beyond the end. */
class Fields {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw malformed();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  takeField(lengthBytes: 1 | 2): Buffer {
    return this.take(this.take(lengthBytes).readUIntBE(0, lengthBytes));
  }
}

const nameIn = (extension: Buffer): string => {
  const list = new Fields(new Fields(extension).takeField(2));
  if (list.take(1)[0] !== 0) throw malformed();
  const name = list.takeField(2).toString('latin1');
  if (!list.isAtEnd) throw malformed();
  return name;
};

/** The name in a whole ClientHello, lower case; undefined without one. Throws `tls_malformed`, also for two names. */
export const serverNameOf = (message: Buffer): string | undefined => {
  const fields = new Fields(message);
  fields.take(34);
  fields.takeField(1);
  fields.takeField(2);
  fields.takeField(1);
  if (fields.isAtEnd) return undefined;
  const extensions = new Fields(fields.takeField(2));
  const names: string[] = [];
  while (!extensions.isAtEnd) {
    const type = extensions.take(2).readUInt16BE();
    const body = extensions.takeField(2);
    if (type === SERVER_NAME) names.push(nameIn(body));
  }
  if (names.length > 1) throw malformed();
  return names[0]?.toLowerCase();
};

/** Whether a whole ClientHello stands in `bytes`, and its name. */
export const readHello = (bytes: Buffer): { readonly name: string | undefined } | undefined => {
  const message = messageOf(bytes);
  return message && { name: serverNameOf(message) };
};

/** Bytes of a client up to `isEnough`, given back to the socket to be read again. Throws for an end and beyond the bounds. */
export const peek = async <T>(
  socket: Socket,
  isEnough: (bytes: Buffer) => T | undefined,
  limits: { readonly helloBytes: number; readonly headMs: number },
): Promise<T> => {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let bytes: Buffer = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      bytes = Buffer.concat([bytes, chunk]);
    }
    try {
      const found = isEnough(bytes);
      if (found !== undefined) resolve(found);
      else if (bytes.length > limits.helloBytes) reject(malformed());
    } catch (thrown) {
      reject(thrown as Error);
    }
  };
  const onEnd = () => reject(malformed());
  const timer = setTimeout(() => reject(malformed()), limits.headMs);
  socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd);
  onReadable();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
    if (bytes.length > 0 && !socket.destroyed) socket.unshift(bytes);
  }
};
