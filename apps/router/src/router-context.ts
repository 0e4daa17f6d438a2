import type { CallRecord, ToolContract, ToolRef } from '@toolfabric/contract';
import type { Hide } from '@toolfabric/governance';
import type { Clock, Faults, Logger, Pace, Signer, Telemetry } from '@toolfabric/kernel';
import type { LedgerPorts, Versioned } from '@toolfabric/ports';
import type { DecidedAgain } from './approvals/decide-again.ts';
import type { DecidedQueued } from './policy/decide-queued.ts';
import type { RecentCalls } from './recent-calls.ts';
import type { DecidedCall } from './record-payloads.ts';
import type { TaskHomes } from './task-home.ts';

/** What every procedure of the router is given. Compiled once; nothing in it is optional. */
export interface RouterContext {
  /** Unique for each start of the process. */
  readonly incarnation: string;
  readonly ports: LedgerPorts;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly faults: Faults;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  /** Redacted arguments and result of a call that ended, for the trace; nothing without a redaction key. Never waits. */
  readonly recordPayloads: (call: CallRecord) => void;
  /** What was asked of the policy and answered, redacted, for the trace; nothing without a redaction key. Never waits. */
  readonly recordDecision: (decided: DecidedCall) => void;
  /** Hides secrets in what a person is shown, by the rules of a contract beside those that always hold. */
  readonly hideFor: (tenant: string, rules?: readonly string[]) => Hide;
  /** Under which number of the policy this router decides; nothing while it knows none. */
  readonly policyMark: () => { readonly watermark?: number };
  /** What the policy of now says of a call that waits in a queue (protocol 6). */
  readonly decideQueued: (call: CallRecord) => Promise<DecidedQueued>;
  /** What this router stored last of calls in flight: saves reads, decides nothing. */
  readonly recent: RecentCalls;
  /** Tells whoever waits; lossy. */
  readonly notify: (call: CallRecord) => void;
  /** Whether the incarnation in a claim is dead, as this router knows it (protocol 10). */
  readonly isDead: (kind: string, incarnation: string) => Promise<boolean>;
  /** By its digest, whatever has become of it since; throws `unavailable` where this router cannot read it. */
  readonly contractOf: (tool: ToolRef) => Promise<ToolContract>;
  /** Goes on with a call that got what it waited for; never waits. */
  readonly carryOn: (tenant: string, callId: string) => void;
  /** Whether a worker of the kind keeps workspaces on storage of its own, so that others need their snapshots. */
  readonly storesApart: (kind: string) => boolean;
  /** Whether the policy of now lets the actor of a call have what another call brought forth. */
  readonly isStillAllowed: (call: CallRecord) => Promise<boolean>;
  /** Asks the policy of now about a call that a person has approved. */
  readonly decideAgain: (call: CallRecord) => Promise<DecidedAgain>;
  /** By the key of its OPEN entry: a person is asked and nothing else can happen to the call, so that nobody need look. */
  readonly isResting: (openKey: string) => boolean;
  /** Where the workspaces of tasks lie at the moment. */
  readonly homes: TaskHomes;
}

/** A call as it was read or written, with the revision that the next write needs. */
export type StoredCall = Versioned<CallRecord>;
