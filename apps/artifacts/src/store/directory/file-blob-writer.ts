import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Faults, randomId } from '@toolfabric/kernel';
import type { BlobWriter } from '../byte-store.ts';
import { CREATE_NEW, makeFolder, PRIVATE_FILE, syncFolder } from './durable-files.ts';
import type { TenantPaths } from './tenant-paths.ts';

/** Collected before one write; what a sender holds of one body in memory, beside one chunk. */
const BATCH_BYTES = 256 * 1024;

/** Bytes go into a file of their own below `tmp`, which nobody reads; its rename is the commit (B1). */
export class FileBlobWriter implements BlobWriter {
  readonly #handle: FileHandle;
  readonly #aside: string;
  readonly #paths: TenantPaths;
  readonly #faults: Faults;
  #batch: Uint8Array[] = [];
  #batched = 0;
  #isOver = false;

  private constructor(handle: FileHandle, aside: string, paths: TenantPaths, faults: Faults) {
    this.#handle = handle;
    this.#aside = aside;
    this.#paths = paths;
    this.#faults = faults;
  }

  static async begin(paths: TenantPaths, faults: Faults): Promise<FileBlobWriter> {
    const aside = join(paths.temporary, randomId());
    return new FileBlobWriter(await open(aside, CREATE_NEW, PRIVATE_FILE), aside, paths, faults);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#batch.push(chunk);
    this.#batched += chunk.byteLength;
    if (this.#batched >= BATCH_BYTES) await this.#flush();
  }

  async commit(sha256: string): Promise<void> {
    await this.#flush();
    this.#faults.at('artifacts.received');
    await this.#handle.datasync();
    await this.#handle.close();
    const { folder, file } = this.#paths.blob(sha256);
    await makeFolder(folder);
    await rename(this.#aside, file);
    this.#isOver = true;
    await syncFolder(folder);
    this.#faults.at('artifacts.after-blob');
  }

  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#batch = [];
    await this.#handle.close().catch(() => {});
    await rm(this.#aside, { force: true });
  }

  /** `writev` may write less than it was given. */
  async #flush(): Promise<void> {
    let rest = this.#batch;
    this.#batch = [];
    this.#batched = 0;
    while (rest.length > 0) {
      const { bytesWritten } = await this.#handle.writev(rest);
      rest = after(rest, bytesWritten);
    }
    this.#faults.at('artifacts.receiving');
  }
}

const after = (chunks: readonly Uint8Array[], written: number): Uint8Array[] => {
  let skip = written;
  return chunks.flatMap((chunk) => {
    const gone = Math.min(skip, chunk.byteLength);
    skip -= gone;
    return gone === chunk.byteLength ? [] : [chunk.subarray(gone)];
  });
};
