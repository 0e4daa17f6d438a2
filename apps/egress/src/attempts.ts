import type { EgressPermit, EgressRefusal } from '@toolfabric/contract';

/** One thing that a client tried, or the end of a connection. Holds no token, no header and no body. */
export interface EgressAttempt {
  readonly permit: Pick<EgressPermit, 'actor' | 'taskId' | 'callId' | 'epoch'>;
  readonly verdict: 'allowed' | 'refused' | 'closed';
  /** Why it was refused, or closed before its end. */
  readonly reason?: EgressRefusal;
  readonly host?: string;
  readonly port?: number;
  readonly scheme?: 'https' | 'http';
  /** The address that was dialled. */
  readonly address?: string;
  /** The place of the rule in the permit. */
  readonly rule?: number;
  readonly method?: string;
  /** Characters; the path itself only under a rule that names paths. */
  readonly pathLength?: number;
  readonly path?: string;
  /** The handle of the credential that was injected. */
  readonly credential?: string;
  /** Whose account it is, as its owner calls it, and which version of its secret went out. */
  readonly account?: string;
  readonly credentialVersion?: number;
  /** Bytes to the host and from it, at the end of a connection. */
  readonly bytesOut?: number;
  readonly bytesIn?: number;
  /** Milliseconds since the connection began. */
  readonly ms: number;
}

export interface AttemptSink {
  /** Never waits and never throws. */
  record(attempt: EgressAttempt): void;
}
