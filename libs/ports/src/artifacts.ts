import type { ArtifactRecord, Envelope, WorkspaceHead } from '@toolfabric/contract';

export interface ArtifactName {
  /** Unique within the call; shown to people, never used as a path. */
  readonly name: string;
  readonly mediaType: string;
  readonly trust: 'trusted' | 'untrusted';
}

export interface StoredArtifact {
  readonly id: string;
  readonly size: number;
  readonly sha256: string;
}

/** Bytes `from` up to and not including `to`; to the end when left out. */
export interface ByteRange {
  readonly from: number;
  readonly to?: number;
}

/**
 * A log that its owner may read while it grows. What is appended after the store's cap is dropped and counted; nothing
 * is lost without being counted.
 */
export interface LiveLog {
  readonly id: string;
  append(bytes: Uint8Array): Promise<void>;
  /** Counts bytes of the stream that are not stored. */
  skip(bytes: number): void;
  close(): Promise<StoredArtifact>;
}

/**
 * The artifact store as one call may use it. Every method throws `StoreUnavailable` when it is not known whether the
 * store took it (a repeat finds what was taken), and a `FabricError` (`artifact_quota`, `too_large`, `not_found`,
 * `forbidden`) when it did not.
 */
export interface ArtifactSession {
  /** Resolves when the bytes are durable under the id that the call and the name decide; before, nobody can read them. */
  put(name: ArtifactName, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredArtifact>;
  openLog(name: ArtifactName, signal: AbortSignal): Promise<LiveLog>;
  read(id: string, range: ByteRange | undefined, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Generation 0 without a manifest before the first snapshot. */
  head(signal: AbortSignal): Promise<WorkspaceHead>;
  /**
   * Sets the manifest of generation `expected + 1`; throws `RevisionConflict` when the head is not `expected` any more.
   * Without a manifest it only raises the generation, and keeps the one that stands there. `keeps` are all the snapshots
   * beside the manifest that it still needs: the store lets go of the others of this workspace, after a long grace.
   * Without it everything stays.
   */
  moveHead(
    expected: number,
    manifest: string | undefined,
    signal: AbortSignal,
    keeps?: readonly string[],
  ): Promise<WorkspaceHead>;
}

export interface ArtifactStore {
  /** `permit` is the signed leave that came with the call; its requests belong to the trace of `traceparent`. */
  session(permit: Envelope, traceparent?: string): ArtifactSession;
}

/** The store as the front door uses it, with a permit for one request. */
export interface ArtifactFront {
  describe(permit: Envelope, id: string, signal: AbortSignal): Promise<ArtifactRecord>;
  /** For a live log: what stands there now. */
  read(permit: Envelope, id: string, range: ByteRange | undefined, signal: AbortSignal): AsyncIterable<Uint8Array>;
  list(
    permit: Envelope,
    filter: { readonly taskId?: string; readonly callId?: string; readonly after?: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{ artifacts: ArtifactRecord[]; next?: string }>;
  manage(
    permit: Envelope,
    id: string,
    change: ArtifactChange,
    signal: AbortSignal,
  ): Promise<ArtifactRecord | undefined>;
}

export type ArtifactChange =
  | { readonly type: 'share' | 'unshare'; readonly user?: string | undefined; readonly agent?: string | undefined }
  | { readonly type: 'pin' | 'unpin' | 'delete' };
