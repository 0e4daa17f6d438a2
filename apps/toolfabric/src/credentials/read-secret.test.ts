import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { MAX_SECRET_BYTES } from '@toolfabric/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { readSecret } from './read-secret.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-secret-'));
afterAll(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;
const piped = (...chunks: (string | Buffer)[]) => readSecret({ stdin: Readable.from(chunks), signal: never });
const ofFile = (bytes: string | Buffer) => {
  const file = join(folder, 'secret');
  writeFileSync(file, bytes);
  return readSecret({ file, stdin: Readable.from([]), signal: never });
};

describe.each([
  ['standard input', (bytes: string | Buffer) => piped(bytes)],
  ['a file', ofFile],
])('a secret from %s', (_name, read) => {
  it('loses the line end that was put behind it, and nothing else', async () => {
    expect(await read('s3cret\n')).toBe('s3cret');
    expect(await read('s3cret\r\n')).toBe('s3cret');
    expect(await read(' two\nlines \n\n')).toBe(' two\nlines \n');
    expect(await read('gëheim')).toBe('gëheim');
  });

  it('is refused when it is empty or no text, without a word of it', async () => {
    await expect(read('\n')).rejects.toThrow('the secret is empty');
    await expect(read('')).rejects.toThrow('the secret is empty');
    await expect(read(Buffer.from([0x73, 0xff, 0xfe]))).rejects.toThrow(/^the secret is not UTF-8 text$/);
  });

  it('may be as long as the bound and no longer', async () => {
    expect(await read('x'.repeat(MAX_SECRET_BYTES))).toHaveLength(MAX_SECRET_BYTES);
    await expect(read('x'.repeat(MAX_SECRET_BYTES + 1))).rejects.toThrow('longer than');
  });
});

describe('where a secret comes from', () => {
  it('is not read from a terminal, where it would be shown', () => {
    const stdin = Object.assign(Readable.from(['x']), { isTTY: true });
    expect(() => readSecret({ stdin, signal: never })).toThrow('--secret-file');
  });

  it('comes in pieces, a character cut between two of them', async () => {
    const bytes = Buffer.from('gëheim');
    expect(await piped(bytes.subarray(0, 2), bytes.subarray(2))).toBe('gëheim');
  });

  it('an endless stream is left as soon as it is too long', async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield 'x'.repeat(1_000);
      })(),
    );
    await expect(readSecret({ stdin: endless, signal: never })).rejects.toThrow('longer than');
    expect(endless.destroyed).toBe(true);
  });

  it('a stream that says nothing is left when the person gives up', async () => {
    const stop = new AbortController();
    const read = readSecret({ stdin: new PassThrough(), signal: stop.signal });
    stop.abort(new Error('given up'));
    await expect(read).rejects.toThrow();
  });

  it('a file that is not there is named', async () => {
    const read = readSecret({ file: join(folder, 'none'), stdin: Readable.from([]), signal: never });
    await expect(read).rejects.toThrow('ENOENT');
  });
});
