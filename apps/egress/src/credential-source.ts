import type { EgressPermit, EgressRule } from '@toolfabric/contract';
import { Refused } from './refuse.ts';

export interface CredentialUse {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** As it will be sent, with its query. */
  readonly path: string;
}

/** How a credential is shown to a host. */
export interface Shown {
  /** By name. */
  readonly headers: Readonly<Record<string, string>>;
  /** What must not come back, in each form in which it stands in them. */
  readonly secrets: readonly string[];
  /** Whose account acts with it, and by which of its secrets. */
  readonly as?: { readonly account: string; readonly version: number };
}

export interface CredentialSource {
  /**
   * What shows the credential of the rule. Asked for each request before it goes out. Rejects with
   * `Refused`: `credential_unavailable` when it may not be used there, or is not there; `credential_not_ready` when that
   * cannot be found out just now, or no token comes.
   */
  headersFor(permit: EgressPermit, rule: EgressRule, use: CredentialUse, signal: AbortSignal): Promise<Shown>;
}

/** Holds none: a rule that names one allows nothing. */
export const noCredentials: CredentialSource = {
  headersFor: () => Promise.reject(new Refused('credential_unavailable')),
};
