import type { Clock, Faults, Logger, Pace, Telemetry, Verifier } from '@toolfabric/kernel';
import type { ArtifactStore, EgressDoor, WorkerPorts } from '@toolfabric/ports';
import type { BackgroundRuns } from './background-runs.ts';
import type { AnyTool } from './define-tool.ts';
import type { Strays } from './strays.ts';
import type { RunWatch } from './watch-runs.ts';

/** Everything that the deliveries of one worker process share. Compiled once; nothing in it is optional. */
export interface WorkerContext {
  readonly kind: string;
  /** Unique for each start of the process. */
  readonly incarnation: string;
  readonly ports: WorkerPorts;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly verifier: Verifier;
  /** None where this worker has no artifact store. */
  readonly artifacts: ArtifactStore | undefined;
  /** None where this worker has no way out. */
  readonly egress: EgressDoor | undefined;
  /** Of the installation: makes the marks of redacted secrets. */
  readonly redactionSecret: Uint8Array;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly faults: Faults;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly runs: RunWatch;
  /** Makes the nonce of a claim: nobody else can know it. */
  readonly nonce: () => string;
  /** Aborted, with a `FabricError`, when every execution of this process must stop. */
  readonly halt: AbortController;
  /** Executions that were given up and have not ended: they hold no place, and too many of them end the worker. */
  readonly strays: Strays;
  readonly background: BackgroundRuns;
  /** The number of the policy that this worker heard of last. */
  readonly policy: { watermark: number };
  /** Listeners by call id, rung at every bell; only calls of this process are in it. */
  readonly bells: Map<string, () => void>;
}
