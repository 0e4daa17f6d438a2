/**
 * `<dir>/<tenant>/` with `sha256/<2>/<digest>` (bytes), `records/` and `heads/` (documents), `logs/` (logs that still
 * grow) and `tmp/` (what is being written). Everything below belongs to this process alone.
 */
import { constants, createReadStream } from 'node:fs';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ArtifactId, Sha256, Token } from '@toolfabric/contract';
import { FabricError, type Faults } from '@toolfabric/kernel';
import { type BlobWriter, type ByteStore, FAMILIES, type Family, type Span } from '../byte-store.ts';
import { readAhead } from '../read-ahead.ts';
import { makeFolder, PRIVATE_FILE, removeFile, replaceFile, syncFolder } from './durable-files.ts';
import { FileBlobWriter } from './file-blob-writer.ts';
import { lockFolder } from './lock-folder.ts';
import { TenantPaths } from './tenant-paths.ts';

const READ_BYTES = 256 * 1024;
/** Files that are looked at at one time at start. */
const READ_AHEAD = 16;
const LOG_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/** Makes the folder when it is not there. Throws `conflict` when another process uses it. */
export const openDirectoryStore = async (directory: string, faults: Faults): Promise<ByteStore> => {
  await makeFolder(directory);
  const lock = await lockFolder(directory);
  return new DirectoryStore(directory, faults, () => lock.close());
};

class DirectoryStore implements ByteStore {
  readonly lost = new Promise<string>(() => {});
  readonly close: () => Promise<void>;
  readonly #directory: string;
  readonly #faults: Faults;
  readonly #tenants = new Map<string, Promise<TenantPaths>>();

  constructor(directory: string, faults: Faults, close: () => Promise<void>) {
    this.#directory = directory;
    this.#faults = faults;
    this.close = close;
  }

  async tenants(): Promise<string[]> {
    const entries = await readdir(this.#directory, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && Token.safeParse(entry.name).success)
      .map(({ name }) => name);
  }

  async sweepLeftovers(tenant: string): Promise<void> {
    const { temporary } = await this.#tenant(tenant);
    for (const name of await readdir(temporary)) await rm(join(temporary, name), { force: true });
  }

  async beginBlob(tenant: string): Promise<BlobWriter> {
    return FileBlobWriter.begin(await this.#tenant(tenant), this.#faults);
  }

  async *readBlob(tenant: string, sha256: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const { file } = (await this.#tenant(tenant)).blob(sha256);
    // Said before the first byte, and otherwise than an outage: nobody gets these bytes by asking again.
    if ((await sizeOf(file)) < range.to) throw new FabricError('not_found', 'the bytes of the artifact are gone');
    yield* readFileSpan(file, range, signal);
  }

  async removeBlob(tenant: string, sha256: string): Promise<void> {
    await removeFile((await this.#tenant(tenant)).blob(sha256).file);
  }

  async *blobs(tenant: string): AsyncIterable<{ sha256: string; size: number }> {
    const { blobs } = await this.#tenant(tenant);
    for (const folder of await readdir(blobs)) {
      const names = (await readdir(join(blobs, folder))).filter((name) => Sha256.safeParse(name).success);
      yield* readAhead(names, READ_AHEAD, async (sha256) => ({
        sha256,
        size: (await stat(join(blobs, folder, sha256))).size,
      }));
    }
  }

  async *documents(tenant: string, family: Family): AsyncIterable<{ name: string; text: string }> {
    const folder = (await this.#tenant(tenant)).family(family);
    const files = (await readdir(folder)).filter((file) => file.endsWith('.json'));
    yield* readAhead(files, READ_AHEAD, async (file) => ({
      name: file.slice(0, -5),
      text: await readFile(join(folder, file), 'utf8'),
    }));
  }

  async writeDocument(tenant: string, family: Family, name: string, text: string): Promise<void> {
    const paths = await this.#tenant(tenant);
    await replaceFile(paths.temporary, paths.document(family, name), text);
    this.#faults.at('artifacts.after-document');
  }

  async removeDocument(tenant: string, family: Family, name: string): Promise<void> {
    await removeFile((await this.#tenant(tenant)).document(family, name));
    this.#faults.at('artifacts.after-removal');
  }

  async *logs(tenant: string): AsyncIterable<{ id: string; size: number }> {
    const { logs } = await this.#tenant(tenant);
    for (const id of await readdir(logs)) {
      if (ArtifactId.safeParse(id).success) yield { id, size: (await stat(join(logs, id))).size };
    }
  }

  async appendLog(tenant: string, id: string, position: number, bytes: Uint8Array): Promise<void> {
    const paths = await this.#tenant(tenant);
    const handle = await open(paths.log(id), LOG_FLAGS, PRIVATE_FILE);
    try {
      await writeAt(handle, position, bytes).catch(async (thrown: unknown) => {
        await handle.truncate(position).catch(() => {});
        throw thrown;
      });
      this.#faults.at('artifacts.appending');
      await handle.datasync();
    } finally {
      await handle.close();
    }
    if (position === 0) await syncFolder(paths.logs);
  }

  async *readLog(tenant: string, id: string, range: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
    yield* readFileSpan((await this.#tenant(tenant)).log(id), range, signal);
  }

  async removeLog(tenant: string, id: string): Promise<void> {
    await removeFile((await this.#tenant(tenant)).log(id));
  }

  /** The folders of a tenant, made at its first use. */
  #tenant(tenant: string): Promise<TenantPaths> {
    const known = this.#tenants.get(tenant);
    if (known) return known;
    const made = this.#makeTenant(tenant).catch((thrown: unknown) => {
      this.#tenants.delete(tenant);
      throw thrown;
    });
    this.#tenants.set(tenant, made);
    return made;
  }

  async #makeTenant(tenant: string): Promise<TenantPaths> {
    const paths = new TenantPaths(this.#directory, tenant);
    const folders = [paths.temporary, paths.blobs, paths.logs, ...FAMILIES.map((family) => paths.family(family))];
    for (const folder of folders) await makeFolder(folder);
    return paths;
  }
}

const writeAt = async (
  handle: { write(bytes: Uint8Array, offset: number, length: number, at: number): Promise<{ bytesWritten: number }> },
  position: number,
  bytes: Uint8Array,
): Promise<void> => {
  for (let done = 0; done < bytes.byteLength; ) {
    done += (await handle.write(bytes, done, bytes.byteLength - done, position + done)).bytesWritten;
  }
};

/** Negative for a file that is not there. */
const sizeOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return -1;
    throw thrown;
  }
};

async function* readFileSpan(file: string, { from, to }: Span, signal: AbortSignal): AsyncIterable<Uint8Array> {
  if (to <= from) return;
  yield* createReadStream(file, { start: from, end: to - 1, highWaterMark: READ_BYTES, signal });
}
