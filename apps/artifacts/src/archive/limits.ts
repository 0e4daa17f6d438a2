/** What one tenant, one call and one artifact may take. */
export interface ArchiveLimits {
  /** Bytes that stand in the store for one tenant; equal bytes count once. */
  readonly tenantBytes: number;
  readonly tenantArtifacts: number;
  readonly artifactBytes: number;
  /** Bytes that a log keeps; what comes after is counted and dropped. */
  readonly logBytes: number;
  /** Artifacts of one epoch of a call, snapshots not counted. */
  readonly callArtifacts: number;
  /** Bodies of one tenant that are received at one time. */
  readonly tenantUploads: number;
  /** Bodies that are received at one time: what they hold in memory is bounded by it. */
  readonly uploads: number;
  /** Milliseconds without an append after which a log counts as lost, once its writer's permit is over. */
  readonly logQuietMs: number;
}

export const DEFAULT_LIMITS: ArchiveLimits = {
  tenantBytes: 20 * 1024 ** 3,
  tenantArtifacts: 100_000,
  artifactBytes: 2 * 1024 ** 3,
  logBytes: 16 * 1024 ** 2,
  callArtifacts: 1_000,
  tenantUploads: 64,
  uploads: 256,
  logQuietMs: 10 * 60_000,
};

/** Bytes of one append. */
export const MAX_APPEND_BYTES = 1024 * 1024;
export const MAX_SHARES = 32;
/** Milliseconds that a snapshot stays which no head needs: one may be read at that moment, or be on its way into a head. */
export const SNAPSHOT_GRACE_MS = 6 * 3_600_000;
export const DAY_MS = 86_400_000;
