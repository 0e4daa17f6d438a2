import type { EgressPermit, EgressRule } from '@toolfabric/contract';
import { Refused } from './refuse.ts';

export interface CredentialUse {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** As it will be sent, with its query. */
  readonly path: string;
}

export interface CredentialSource {
  /**
   * The headers that show the credential of the rule, by name. Asked for each request before it goes out. Rejects with
   * `Refused`: `credential_unavailable` when it may not be used there, or is not there; `credential_not_ready` when that
   * cannot be found out just now, or no token comes.
   */
  headersFor(
    permit: EgressPermit,
    rule: EgressRule,
    use: CredentialUse,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
}

/** Holds none: a rule that names one allows nothing. */
export const noCredentials: CredentialSource = {
  headersFor: () => Promise.reject(new Refused('credential_unavailable')),
};
