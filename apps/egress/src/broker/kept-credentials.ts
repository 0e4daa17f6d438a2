import type { CredentialDraft, CredentialHandle, CredentialRecord } from '@toolfabric/contract';
import { type Clock, credentialGroup, FabricError } from '@toolfabric/kernel';
import { changeRecord } from '@toolfabric/ledger';
import type { Store } from '@toolfabric/ports';
import type { Secrets } from '../vault/secrets.ts';
import type { Vault } from '../vault/vault.ts';
import { recordPlace, secretsPlace } from './places.ts';

/** Whose credentials are meant. */
export interface Owner {
  readonly tenant: string;
  readonly user: string;
}

/** Credentials of one user, or of one tenant. */
export const MOST_CREDENTIALS = 200;
/** Versions that a crash may have left without a record. */
const MOST_ORPHANS = 8;

type About = Omit<CredentialDraft, 'sealed'>;

/**
 * Credentials: the record that routers may read, and the secrets of its version in the vault. The secrets are stored
 * before the record that names them, and taken away after it, so that a record that is read has its secrets.
 */
export class KeptCredentials {
  readonly #records: Store<CredentialRecord>;
  readonly #vault: Vault<Secrets>;
  readonly #clock: Clock;

  constructor(records: Store<CredentialRecord>, vault: Vault<Secrets>, clock: Clock) {
    this.#records = records;
    this.#vault = vault;
    this.#clock = clock;
  }

  async find(owner: Pick<CredentialRecord, 'tenant' | 'user'>, handle: CredentialHandle) {
    return (await this.#records.get(recordPlace(owner, handle)))?.value;
  }

  lastRevision(): Promise<number> {
    return this.#records.lastRevision();
  }

  /** Throws `not_found`. */
  async get(owner: Owner, handle: CredentialHandle): Promise<CredentialRecord> {
    const record = await this.find(owner, handle);
    if (record === undefined) throw new FabricError('not_found', 'there is no such credential');
    return record;
  }

  /** All that the owner has or shares, by handle. */
  async list(owner: Owner): Promise<CredentialRecord[]> {
    const groups = [credentialGroup(owner, 'user'), credentialGroup(owner, 'tenant')];
    const keys = (await Promise.all(groups.map((group) => this.#records.keys(group)))).flat();
    const found = await Promise.all(keys.map((key) => this.#records.get(key)));
    const records = found.flatMap((one) => (one === undefined ? [] : [one.value]));
    return records.sort((a, b) => (a.handle < b.handle ? -1 : 1));
  }

  /** A first version, or the next: with new secrets, which end what was begun with the old ones. */
  async add(owner: Owner, about: About, secrets: Secrets, state: CredentialRecord['state']): Promise<CredentialRecord> {
    const before = await this.find(owner, about.handle);
    if (before === undefined) await this.#checkRoom(owner, about.handle);
    const now = this.#clock.now();
    const isOwn = about.handle.startsWith('user:');
    return this.#renew(before, secrets, {
      ...about,
      tenant: owner.tenant,
      ...(isOwn ? { user: owner.user } : {}),
      state,
      version: before?.version ?? 0,
      createdAt: before?.createdAt ?? now,
      changedAt: now,
    });
  }

  /** The next version of what is there, with the secrets that a login brought. Throws `conflict` when it was changed. */
  login(before: CredentialRecord, secrets: Secrets): Promise<CredentialRecord> {
    return this.#renew(before, secrets, { ...before, state: 'active', changedAt: this.#clock.now() });
  }

  /** Takes the secrets away and keeps the record. Throws `not_found`. */
  async revoke(owner: Owner, handle: CredentialHandle): Promise<CredentialRecord> {
    const revoked = await this.#change(await this.get(owner, handle), (current) => ({
      ...current,
      state: 'revoked',
      changedAt: this.#clock.now(),
    }));
    await this.#clear(revoked, false);
    return revoked;
  }

  /** Says that only its owner can make it usable again; nothing happens when it was changed since. */
  async needLogin(record: CredentialRecord): Promise<void> {
    await this.#change(record, (current) =>
      current.version === record.version && current.state === 'active'
        ? { ...current, state: 'needs_login', changedAt: this.#clock.now() }
        : undefined,
    ).catch(() => {});
  }

  async used(record: CredentialRecord): Promise<void> {
    await this.#change(record, (current) =>
      current.version === record.version ? { ...current, lastUsedAt: this.#clock.now() } : undefined,
    ).catch(() => {});
  }

  async #renew(before: CredentialRecord | undefined, secrets: Secrets, wanted: CredentialRecord) {
    const record = await this.#storeSecrets(wanted, secrets);
    const { done } = await changeRecord(
      this.#records,
      recordPlace(record, record.handle),
      (current) => (current?.version === before?.version && current?.state === before?.state ? record : undefined),
      { clock: this.#clock },
    );
    if (!done) {
      await this.#vault.remove(secretsPlace(record));
      throw new FabricError('conflict', 'somebody else changed this credential at the same time');
    }
    await this.#clear(record, true);
    return record;
  }

  /** At the place of the first version from the next on that nobody took. */
  async #storeSecrets(wanted: CredentialRecord, secrets: Secrets): Promise<CredentialRecord> {
    for (let ahead = 1; ahead <= MOST_ORPHANS; ahead += 1) {
      const record = { ...wanted, version: wanted.version + ahead };
      if (await this.#vault.create(secretsPlace(record), secrets)) return record;
    }
    throw new FabricError('unavailable', 'this credential is being changed too often at the same time');
  }

  async #change(
    { tenant, user, handle }: CredentialRecord,
    change: (current: CredentialRecord) => CredentialRecord | undefined,
  ): Promise<CredentialRecord> {
    const changed = await changeRecord(
      this.#records,
      recordPlace({ tenant, ...(user === undefined ? {} : { user }) }, handle),
      (current) => current && change(current),
      { clock: this.#clock },
    );
    if (changed.done) return changed.value;
    throw new FabricError('not_found', 'there is no such credential any more');
  }

  /** Secrets of the older versions and logins that wait, and with `keep` false those of this version too. */
  async #clear(record: CredentialRecord, keep: boolean): Promise<void> {
    const kept = keep ? secretsPlace(record) : undefined;
    const places = await this.#vault.places(recordPlace(record, record.handle)).catch(() => []);
    const old = places.filter((place) => place !== kept && isOld(place, record.version));
    await Promise.allSettled(old.map((place) => this.#vault.remove(place)));
  }

  async #checkRoom(owner: Owner, handle: CredentialHandle): Promise<void> {
    const group = credentialGroup(owner, handle.startsWith('user:') ? 'user' : 'tenant');
    if ((await this.#records.keys(group)).length >= MOST_CREDENTIALS)
      throw new FabricError('invalid_request', `there are ${MOST_CREDENTIALS} credentials: no more can be added`);
  }
}

/** A newer version may be on its way in. */
const isOld = (place: string, version: number): boolean => {
  const [, digits] = /\.v(\d+)$/.exec(place) ?? [];
  return digits === undefined || Number(digits) <= version;
};
