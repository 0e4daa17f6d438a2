import type { CredentialHandle, CredentialRecord } from '@toolfabric/contract';
import { type Clock, type Faults, type Logger, randomId } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import type { Secrets } from '../vault/secrets.ts';
import type { Opened, Vault } from '../vault/vault.ts';
import { type Asking, askingOf, askTokens, LostAnswer, oauthOf } from './ask-tokens.ts';
import type { Issuers } from './discover.ts';
import { type AccessToken, freshToken, heldToken, mayHaveRotated, nextSecrets } from './next-secrets.ts';
import { NoToken, type NoTokenReason } from './oauth-failure.ts';
import type { OAuthPace } from './oauth-pace.ts';

/** A credential, and where its secrets stand in the vault. */
export interface Kept {
  readonly record: CredentialRecord;
  readonly place: string;
}

export interface RenewalPorts {
  readonly vault: Vault<Secrets>;
  readonly issuers: Issuers;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: Logger;
  readonly pace: OAuthPace;
  /** A token of another credential of the same actor, as the record names it, for an exchange. Rejects with `NoToken`. */
  subjectFor(record: CredentialRecord, handle: CredentialHandle): Promise<string>;
}

const TOLD: Readonly<Record<NoTokenReason, string>> = {
  unavailable: 'no token could be fetched a moment ago',
  refused: 'the authorisation server refused it a moment ago',
  login: 'an answer of the authorisation server was lost, or it does not take the login any more',
};
const toldBefore = (why: NoTokenReason): NoToken => new NoToken(why, TOLD[why]);

/** What one wait for a token knows of others that renew it. */
interface Watch {
  /** Of this wait. Found again in the vault it is held, and nothing was sent under it yet. */
  readonly own: string;
  seen?: string;
  /** Monotonic milliseconds. */
  since: number;
  readonly giveUpAt: number;
}

/**
 * One fetching of a token at a time, over all egress processes: who marks the sealed record with a lease asks, and the
 * others wait for what it stores. A lease that stood unchanged for `leaseMs` is void; whether something was sent under
 * it is not known then, so a refresh token that may have been used is never used again.
 */
export class Renewals {
  readonly #ports: RenewalPorts;
  readonly #stopping = new AbortController();

  constructor(ports: RenewalPorts) {
    this.#ports = ports;
  }

  /** Nobody waits for another process any more; what is being asked is asked to its end. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Throws `NoToken`. */
  async renew(kept: Kept): Promise<AccessToken> {
    const { clock, pace } = this.#ports;
    const now = clock.monotonic();
    const watch: Watch = { own: randomId(), since: now, giveUpAt: now + pace.patienceMs };
    const { signal } = this.#stopping;
    while (clock.monotonic() < watch.giveUpAt && !signal.aborted) {
      const found = await this.#step(kept, watch).catch((thrown: unknown) => {
        if (thrown instanceof StoreUnavailable) return undefined;
        throw thrown;
      });
      if (found !== undefined) return found;
      await clock.sleep(pace.pollMs, signal);
    }
    throw new NoToken('unavailable', 'the token is being renewed, and did not come in time');
  }

  /** A token, or nothing when it is worth another look. */
  async #step(kept: Kept, watch: Watch): Promise<AccessToken | undefined> {
    const { vault, clock } = this.#ports;
    const opened = await vault.read(kept.place);
    if (opened === undefined) throw new NoToken('login', 'the vault holds nothing for this credential');
    const { secrets, record } = opened;
    const now = clock.now();
    const fresh = freshToken(secrets, now);
    if (fresh !== undefined) return fresh;
    const held = heldToken(secrets, now);
    const { lease, failed } = record;
    if (failed !== undefined && (failed.why === 'login' || failed.lease === watch.seen)) {
      if (held !== undefined) return held;
      throw toldBefore(failed.why);
    }
    if (lease === undefined || lease === watch.own) return this.#claim(kept, opened, watch, held);
    if (held !== undefined) return held;
    return this.#isVoid(lease, watch) ? this.#takeOver(kept, opened, lease, watch) : undefined;
  }

  #isVoid(lease: string, watch: Watch): boolean {
    const now = this.#ports.clock.monotonic();
    if (lease !== watch.seen) {
      watch.seen = lease;
      watch.since = now;
    }
    return now - watch.since >= this.#ports.pace.leaseMs;
  }

  /** Whoever held the lease is gone, or too slow to be waited for. */
  async #takeOver(kept: Kept, opened: Opened<Secrets>, lease: string, watch: Watch) {
    if (!mayHaveRotated(kept.record, opened.secrets)) return this.#claim(kept, opened, watch, undefined);
    const ended = await this.#ports.vault.mark(kept.place, opened, { failed: { lease, why: 'login' } });
    if (!ended) return undefined;
    this.#tell(kept, 'login');
    throw toldBefore('login');
  }

  async #claim(
    kept: Kept,
    opened: Opened<Secrets>,
    watch: Watch,
    held: AccessToken | undefined,
  ): Promise<AccessToken | undefined> {
    const { issuers, vault } = this.#ports;
    try {
      const { subject, ...oauth } = oauthOf(kept.record);
      // Before the lease: as long as it stands, something may have been sent.
      const issuer = await issuers.find(oauth);
      const subjectToken = subject && (await this.#ports.subjectFor(kept.record, subject));
      const isHeld = opened.record.lease === watch.own || (await vault.mark(kept.place, opened, { lease: watch.own }));
      return isHeld
        ? await this.#ask(kept, askingOf(kept.record, opened.secrets, issuer, subjectToken), watch.own)
        : undefined;
    } catch (thrown) {
      // It still holds: not to have another one yet harms nobody.
      if (thrown instanceof NoToken && held !== undefined) return held;
      throw thrown;
    }
  }

  /** With the lease: asks once, and stores what came before anybody uses it. */
  async #ask({ record, place }: Kept, asking: Asking, lease: string) {
    const { vault, clock, faults, pace } = this.#ports;
    const { secrets } = asking;
    const taken = await askTokens(asking)
      .then((tokens) => nextSecrets(record, secrets, tokens, clock.now()))
      .catch((thrown: unknown) => this.#fail({ record, place }, secrets, lease, thrown));
    faults.at('egress.refreshed');
    const { refused } = taken;
    const end = { secrets: taken.secrets, ...(refused ? { failed: { lease, why: refused.why } } : {}) };
    const isStored = await vault.release(place, lease, end, pace.storeMs).catch(() => false);
    if (refused !== undefined) throw refused;
    if (!isStored) throw new NoToken('unavailable', 'the token that came could not be stored');
    this.#ports.log.info('oauth.renewed', { tenant: record.tenant, handle: record.handle });
    return heldToken(taken.secrets, clock.now());
  }

  async #fail(kept: Kept, secrets: Secrets, lease: string, thrown: unknown): Promise<never> {
    const { vault, pace } = this.#ports;
    const failure = failureOf(thrown, mayHaveRotated(kept.record, secrets));
    const { why } = failure;
    this.#tell(kept, why);
    await vault.release(kept.place, lease, { failed: { lease, why } }, pace.storeMs).catch(() => false);
    throw failure;
  }

  #tell({ record }: Kept, why: NoTokenReason): void {
    this.#ports.log.warn('oauth.no-token', { tenant: record.tenant, handle: record.handle, why });
  }
}

const failureOf = (thrown: unknown, mayHaveRotatedNow: boolean): NoToken => {
  if (thrown instanceof NoToken) return thrown;
  if (!(thrown instanceof LostAnswer)) throw thrown;
  return mayHaveRotatedNow
    ? new NoToken('login', 'the answer of the authorisation server was lost, and with it the login')
    : new NoToken('unavailable', 'the answer of the authorisation server was lost');
};
