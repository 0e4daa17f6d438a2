import type { Clock, Faults, Logger } from '@toolfabric/kernel';
import type { PendingLogin, Secrets } from '../vault/secrets.ts';
import type { Vault } from '../vault/vault.ts';
import { Issuers } from './discover.ts';
import { type LoginSettings, Logins } from './logins.ts';
import type { AccessToken } from './next-secrets.ts';
import { OAUTH_PACE, type OAuthPace } from './oauth-pace.ts';
import type { WaySettings } from './open-way.ts';
import { type Kept, type RenewalPorts, Renewals } from './renewals.ts';
import { TokenSource } from './token-source.ts';

export interface OAuthSettings extends WaySettings, LoginSettings {
  readonly pace?: OAuthPace;
}

export interface OAuthPorts {
  /** Where the secrets of credentials stand. */
  readonly secrets: Vault<Secrets>;
  /** Where logins wait. */
  readonly logins: Vault<PendingLogin>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: Logger;
  readonly subjectFor: RenewalPorts['subjectFor'];
}

/** Everything that is said to authorisation servers. Failures are `NoToken`, a `FabricError` with what has to be done. */
export interface OAuth {
  /** A token to show now, renewed when it is time; for a record that may be used. */
  tokenFor(kept: Kept, signal: AbortSignal): Promise<AccessToken>;
  readonly logins: Pick<Logins, 'begin' | 'complete'>;
  /** Resolves once nothing is asked any more: a token that is being fetched is stored first. */
  stop(): Promise<void>;
}

export const createOAuth = (settings: OAuthSettings, ports: OAuthPorts): OAuth => {
  const { clock, faults, log, subjectFor } = ports;
  const pace = settings.pace ?? OAUTH_PACE;
  const issuers = new Issuers({ ...settings, requestMs: pace.requestMs }, clock);
  const renewals = new Renewals({ vault: ports.secrets, issuers, clock, faults, log, pace, subjectFor });
  const tokens = new TokenSource(renewals, clock, pace);
  return {
    tokenFor: (kept, signal) => tokens.tokenFor(kept, signal),
    logins: new Logins({ vault: ports.logins, issuers, clock, pace }, settings),
    stop: () => {
      renewals.stop();
      return tokens.drained();
    },
  };
};
