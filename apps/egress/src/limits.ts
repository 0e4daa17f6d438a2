/** What one egress bears, whatever permits say. Times in milliseconds, sizes in bytes. */
export interface EgressLimits {
  /** Permits that are held at one time, closed ones among them until they expire. */
  readonly permits: number;
  /** Connections of all clients together. */
  readonly connections: number;
  /** Revocations that are remembered in this process; the stored floors are the truth. */
  readonly floors: number;
  readonly permitBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** From the first byte of a request or TLS handshake to its end. */
  readonly headMs: number;
  readonly helloBytes: number;
  readonly resolveMs: number;
  readonly connectMs: number;
  /** Before the next address is tried beside the one that does not answer. */
  readonly nextAddressMs: number;
  readonly addresses: number;
  readonly idleMs: number;
  readonly connectionMs: number;
  readonly leaves: number;
  readonly leafMs: number;
}

export const DEFAULT_LIMITS: EgressLimits = {
  permits: 10_000,
  connections: 2_048,
  floors: 100_000,
  permitBytes: 128 * 1024,
  headerBytes: 32 * 1024,
  headerCount: 128,
  headMs: 15_000,
  helloBytes: 20_000,
  resolveMs: 5_000,
  connectMs: 10_000,
  nextAddressMs: 250,
  addresses: 16,
  idleMs: 120_000,
  connectionMs: 3_600_000,
  leaves: 1_000,
  leafMs: 86_400_000,
};
