import type { Actor, CredentialRecord } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';

/** What happened to a credential, as it stands since. */
export interface CredentialChange {
  readonly what: 'added' | 'logged_in' | 'revoked' | 'needs_login';
  readonly record: CredentialRecord;
  /** Who did it; nobody when its authorisation server did. */
  readonly by?: Actor;
}

/** Never waits and never throws. */
export type TellChange = (change: CredentialChange) => void;

export interface TellChanges {
  readonly events: Pick<EventLog, 'emit'>;
  readonly clock: Clock;
  /** Of this process: event ids are its own. */
  readonly incarnation: string;
}

/** Each change as an event of its tenant. A record has nothing secret, and of it no more is told than what it is called. */
export const tellChanges = ({ events, clock, incarnation }: TellChanges): TellChange => {
  let number = 0;
  return ({ what, record, by }) => {
    const { tenant, handle, account, kind, version, user } = record;
    number += 1;
    events.emit({
      id: `credential.${incarnation}.${number}`,
      type: 'credential.changed',
      service: 'egress',
      tenant,
      at: clock.now(),
      ...(by === undefined ? {} : { actor: { tenant: by.tenant, user: by.user, agent: by.agent } }),
      attributes: { what, handle, account, kind, version, ...(user === undefined ? {} : { user }) },
    });
  };
};
