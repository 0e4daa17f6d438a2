import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '@toolfabric/kernel';
import { type TokenBook, TokensFile } from './tokens.ts';

const POLL_MS = 1_000;

/** Says which version of a file it is: a rename, a rewrite and an append all change it. */
const versionOf = async (path: string): Promise<string> => {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs}.${size}.${ino}`;
};

const readInto = async (book: TokenBook, path: string): Promise<void> =>
  book.replace(TokensFile.parse(JSON.parse(await readFile(path, 'utf8'))));

/**
 * Keeps the book equal to the file. Rejects when the file cannot be read at first or holds no token. Later a broken
 * file changes nothing, since it may be half written, and a file that is gone takes every token with it.
 */
export const watchTokensFile = async (
  path: string,
  book: TokenBook,
  logger: Logger,
  pollMs = POLL_MS,
): Promise<() => void> => {
  let seen = await versionOf(path);
  await readInto(book, path).catch((cause) => {
    throw new Error(`the tokens file ${path} is not valid`, { cause });
  });
  if (book.size === 0) throw new Error(`the tokens file ${path} holds no token`);

  const look = async () => {
    const version = await versionOf(path).catch(() => 'gone');
    if (version === seen) return;
    seen = version;
    if (version === 'gone') book.replace([]);
    else await readInto(book, path);
    logger.info('tokens_read', { tokens: book.size });
  };
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      .catch(() => logger.error('tokens_file_invalid'))
      .finally(() => {
        looking = false;
      });
  }, pollMs);
  return () => clearInterval(timer);
};
