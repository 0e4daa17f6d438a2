/**
 * Every waiting time of the fabric, in milliseconds, as two named sets. They belong together: a life is declared dead
 * only after several missed beats, and a sweep never acts before a slow router had its grace.
 */
export interface Pace {
  /** After it an unacknowledged delivery comes again. */
  readonly ackWaitMs: number;
  /** How often a worker says that it still works on a delivery and reads its claim again. */
  readonly heartbeatMs: number;
  /** How often a process renews its life sign. */
  readonly lifeBeatMs: number;
  /** An observer declares a life dead after seeing it unchanged for so long on its own monotonic clock. */
  readonly deadAfterMs: number;
  /** Between two sweeps of the open calls. */
  readonly sweepEveryMs: number;
  /** An open call younger than this is left to the router that accepted it. */
  readonly openGraceMs: number;
  readonly leaseBeatMs: number;
  readonly leaseDeadAfterMs: number;
  /** How long a gateway waits for one answer of a router before it asks again. */
  readonly rpcAttemptMs: number;
  /** How often a waiting gateway asks for the call, beside listening. */
  readonly waitPollMs: number;
  /** First delay between two probes of an unknown call; doubles up to sixty times as much. */
  readonly probeFirstMs: number;
  /** First pause before the fabric tries a call again that failed for a reason which passes; doubles. */
  readonly retryFirstMs: number;
  /** A nak that means "later", for example while another worker holds the claim. */
  readonly nakDelayMs: number;
  /** How long a service that was told to stop lets work in flight go on. */
  readonly drainMs: number;
}

export const PACES = {
  production: {
    ackWaitMs: 30_000,
    heartbeatMs: 5_000,
    lifeBeatMs: 2_000,
    deadAfterMs: 10_000,
    sweepEveryMs: 1_000,
    openGraceMs: 5_000,
    leaseBeatMs: 2_000,
    leaseDeadAfterMs: 8_000,
    rpcAttemptMs: 5_000,
    waitPollMs: 1_000,
    probeFirstMs: 1_000,
    retryFirstMs: 500,
    nakDelayMs: 1_000,
    drainMs: 20_000,
  },
  test: {
    ackWaitMs: 2_000,
    heartbeatMs: 500,
    lifeBeatMs: 300,
    deadAfterMs: 2_500,
    sweepEveryMs: 250,
    openGraceMs: 1_000,
    leaseBeatMs: 300,
    leaseDeadAfterMs: 1_800,
    rpcAttemptMs: 1_500,
    waitPollMs: 1_000,
    probeFirstMs: 300,
    retryFirstMs: 200,
    nakDelayMs: 300,
    drainMs: 5_000,
  },
} as const satisfies Record<string, Pace>;
export type PaceName = keyof typeof PACES;
