import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { MAX_SECRET_BYTES } from '@toolfabric/contract';
import { UsageError } from '../cli/usage-error.ts';

const tooLarge = () => new UsageError(`the secret is longer than ${MAX_SECRET_BYTES} bytes`);

const textOf = (bytes: Uint8Array): string => {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError('the secret is not UTF-8 text');
  }
  // What `echo` and editors put behind it is no part of it.
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new UsageError('the secret is empty');
  return secret;
};

/** Throws `UsageError` for what is empty, too long or no text; its message never holds any of it. */
export const secretFromStream = async (stream: Readable, signal: AbortSignal): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = () => stream.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_SECRET_BYTES) throw tooLarge();
      chunks.push(bytes);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
  return textOf(Buffer.concat(chunks));
};

const secretFromFile = async (path: string): Promise<string> => {
  const file = await open(path, 'r').catch((thrown: NodeJS.ErrnoException) => {
    throw new UsageError(`--secret-file ${path}: cannot be read (${thrown.code ?? 'unknown'})`);
  });
  try {
    const buffer = Buffer.alloc(MAX_SECRET_BYTES + 1);
    let size = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, size, buffer.length - size);
      size += bytesRead;
      if (size > MAX_SECRET_BYTES) throw tooLarge();
      if (bytesRead === 0) return textOf(buffer.subarray(0, size));
    }
  } finally {
    await file.close();
  }
};

export interface SecretSource {
  /** Standard input where it is left out. */
  readonly file?: string | undefined;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
}

/** A secret never stands among the arguments: other users of the machine and the history of the shell could see it. */
export const readSecret = ({ file, stdin, signal }: SecretSource): Promise<string> => {
  if (file !== undefined) return secretFromFile(file);
  if (stdin.isTTY) throw new UsageError('give the secret on standard input, or a file with --secret-file');
  return secretFromStream(stdin, signal);
};
