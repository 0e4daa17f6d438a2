import type { Clock, Verifier } from '@toolfabric/kernel';
import type { AttemptSink } from './attempts.ts';
import type { CredentialSource } from './credential-source.ts';
import type { Resolver } from './dial/resolve.ts';
import type { EgressLimits } from './limits.ts';
import type { PermitTable } from './permits/permit-table.ts';
import type { Leaves } from './tls/leaves.ts';

/** What every part of the proxy is given. */
export interface EgressContext {
  readonly table: PermitTable;
  readonly verifier: Verifier;
  /** The pools whose permits are good here. */
  readonly kinds: readonly string[];
  readonly limits: EgressLimits;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly attempts: AttemptSink;
  readonly credentials: CredentialSource;
  /** Nothing over TLS can be read without. */
  readonly leaves: Leaves | undefined;
  /** Authorities (PEM) that may vouch for a host whose exchange is read. */
  readonly ca: readonly string[];
}
