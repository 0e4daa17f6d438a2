import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import type { ArtifactSession } from '@toolfabric/ports';
import type { Redactor } from '@toolfabric/worker-runtime';
import { locateBelow } from '../changes/locate.ts';
import { mayAccess } from '../workspace/access.ts';
import type { OpenRoot } from '../workspace/open-root.ts';

export interface StoredFile {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
}

export interface StoringFiles {
  readonly root: OpenRoot;
  readonly paths: readonly string[];
  readonly session: ArtifactSession;
  readonly redactor: Redactor;
  /** Prefix of every name, so that none is that of a stream. */
  readonly prefix: string;
}

export interface StoredFiles {
  readonly stored: readonly StoredFile[];
  /** Files that were not stored, with the reason. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

const MOST_FILES = 20;
const MOST_BYTES = 8 * 1024 ** 2;
const MOST_TOTAL = 32 * 1024 ** 2;
const CHUNK = 64 * 1024;
/** Milliseconds for one file. */
const STORE_MS = 15_000;

const MEDIA: Readonly<Record<string, string>> = {
  xml: 'application/xml',
  json: 'application/json',
  html: 'text/html',
  txt: 'text/plain; charset=utf-8',
  log: 'text/plain; charset=utf-8',
  info: 'text/plain; charset=utf-8',
  png: 'image/png',
};

const mediaTypeOf = (path: string): string =>
  MEDIA[basename(path).split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream';

/** Opens a file of the workspace that its user may read; a link, a pipe or a device is none. */
const openFile = (root: OpenRoot, path: string): { descriptor: number; size: number } | string => {
  const place = locateBelow(root.handle.fd, path);
  if (place === undefined) return 'it cannot be reached without a link';
  let descriptor: number;
  try {
    descriptor = openSync(place.at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return 'it cannot be opened';
  } finally {
    place.close();
  }
  const stats = fstatSync(descriptor);
  const why = !stats.isFile()
    ? 'it is no regular file'
    : !mayAccess(stats, root.owner, 'read')
      ? 'it may not be read'
      : undefined;
  if (why === undefined) return { descriptor, size: stats.size };
  closeSync(descriptor);
  return why;
};

async function* redactedBytes(descriptor: number, size: number, redactor: Redactor): AsyncGenerator<Uint8Array> {
  const redacting = redactor.stream();
  const buffer = Buffer.alloc(CHUNK);
  for (let at = 0; at < size; ) {
    const length = readSync(descriptor, buffer, 0, Math.min(CHUNK, size - at), at);
    if (length === 0) break;
    at += length;
    yield Uint8Array.from(redacting.push(buffer.subarray(0, length)));
  }
  yield redacting.end();
}

/** Stores files of a workspace as artifacts of the call, redacted, bounded in number and in bytes. */
export const storeFiles = async (storing: StoringFiles): Promise<StoredFiles> => {
  const stored: StoredFile[] = [];
  const left: { path: string; why: string }[] = [];
  let total = 0;
  for (const path of storing.paths) {
    if (stored.length >= MOST_FILES) {
      left.push({ path, why: `more than ${MOST_FILES} files` });
      continue;
    }
    const file = openFile(storing.root, path);
    if (typeof file === 'string') {
      left.push({ path, why: file });
      continue;
    }
    try {
      total += file.size;
      if (file.size > MOST_BYTES || total > MOST_TOTAL) {
        left.push({ path, why: 'too large' });
        continue;
      }
      const name = storing.redactor.text(`${storing.prefix}${path}`).slice(-200);
      const mediaType = mediaTypeOf(path);
      const bytes = redactedBytes(file.descriptor, file.size, storing.redactor);
      const { id } = await storing.session.put(
        { name, mediaType, trust: 'untrusted' },
        bytes,
        AbortSignal.timeout(STORE_MS),
      );
      stored.push({ path, id, name, mediaType });
    } catch {
      left.push({ path, why: 'the artifact store did not take it' });
    } finally {
      closeSync(file.descriptor);
    }
  }
  return { stored, left: left.slice(0, MOST_FILES) };
};
