/** What one tenant's folder may take. What is beyond it is not read, and counted. */
export interface FolderLimits {
  readonly files: number;
  /** Bytes of one file. */
  readonly fileBytes: number;
  /** Bytes of all files together. */
  readonly bytes: number;
  /** Folders one inside the other. */
  readonly depth: number;
  /** Files, folders and whatever else stands there. */
  readonly entries: number;
  /** Bytes of memory that the index of one tenant may take, as they are estimated. */
  readonly indexBytes: number;
  /** Milliseconds for which the files that were found are looked at for one question. */
  readonly lookMs: number;
  /** The same of all tenants whose index is kept; the one that was asked longest ago goes. */
  readonly keptBytes: number;
  readonly keptTenants: number;
  /** Milliseconds for which a folder is not looked through again. */
  readonly freshMs: number;
}

export const FOLDER_LIMITS: FolderLimits = {
  files: 50_000,
  fileBytes: 1024 ** 2,
  bytes: 128 * 1024 ** 2,
  depth: 32,
  entries: 200_000,
  indexBytes: 384 * 1024 ** 2,
  lookMs: 3_000,
  keptBytes: 512 * 1024 ** 2,
  keptTenants: 16,
  freshMs: 2_000,
};
