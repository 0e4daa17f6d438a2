import type { Actor, CredentialDraft, CredentialHandle, CredentialRecord } from '@toolfabric/contract';
import { type Clock, credentialGroup, FabricError, type Faults } from '@toolfabric/kernel';
import { changeRecord } from '@toolfabric/ledger';
import type { Store } from '@toolfabric/ports';
import type { Secrets } from '../vault/secrets.ts';
import type { Vault } from '../vault/vault.ts';
import { recordPlace, secretsPlace } from './places.ts';
import type { TellChange } from './tell-changes.ts';

/** Whose credentials are meant. */
export interface Owner {
  readonly tenant: string;
  readonly user: string;
}

/** Credentials of one user, or of one tenant. */
export const MOST_CREDENTIALS = 200;
/** Others who change the same one at the same moment. */
const MOST_RIVALS = 8;

type About = Omit<CredentialDraft, 'sealed'>;

export interface KeptPorts {
  readonly records: Store<CredentialRecord>;
  readonly vault: Vault<Secrets>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly tell: TellChange;
}

/**
 * Credentials: the record that routers may read, and the secrets of its version in the vault. The secrets are stored
 * before the record that names them, and taken away after it, so that a record that is read has its secrets.
 */
export class KeptCredentials {
  readonly #records: Store<CredentialRecord>;
  readonly #vault: Vault<Secrets>;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #tell: TellChange;

  constructor({ records, vault, clock, faults, tell }: KeptPorts) {
    this.#records = records;
    this.#vault = vault;
    this.#clock = clock;
    this.#faults = faults;
    this.#tell = tell;
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
  async add(by: Actor, about: About, secrets: Secrets, state: CredentialRecord['state']): Promise<CredentialRecord> {
    const before = await this.find(by, about.handle);
    if (before === undefined) await this.#checkRoom(by, about.handle);
    const now = this.#clock.now();
    const isOwn = about.handle.startsWith('user:');
    const record = await this.#renew(before, secrets, {
      ...about,
      tenant: by.tenant,
      ...(isOwn ? { user: by.user } : {}),
      state,
      version: before?.version ?? 0,
      createdAt: before?.createdAt ?? now,
      changedAt: now,
    });
    this.#tell({ what: 'added', record, by });
    return record;
  }

  /** The next version of what is there, with the secrets that a login brought. Throws `conflict` when it was changed. */
  async login(by: Actor, before: CredentialRecord, secrets: Secrets): Promise<CredentialRecord> {
    const wanted: CredentialRecord = { ...before, state: 'active', changedAt: this.#clock.now() };
    const record = await this.#renew(before, secrets, wanted);
    this.#tell({ what: 'logged_in', record, by });
    return record;
  }

  /** Takes the secrets away and keeps the record. Throws `not_found`. */
  async revoke(by: Actor, handle: CredentialHandle): Promise<CredentialRecord> {
    const revoked = await this.#change(await this.get(by, handle), (current) => ({
      ...current,
      state: 'revoked',
      changedAt: this.#clock.now(),
    }));
    this.#faults.at('egress.credential-stored');
    this.#tell({ what: 'revoked', record: revoked, by });
    await this.#clear(revoked, false);
    return revoked;
  }

  /** Says that only its owner can make it usable again; nothing happens when it was changed since. */
  async needLogin(record: CredentialRecord): Promise<void> {
    try {
      const changed = await this.#change(record, (current) =>
        current.version === record.version && current.state === 'active'
          ? { ...current, state: 'needs_login', changedAt: this.#clock.now() }
          : undefined,
      );
      this.#tell({ what: 'needs_login', record: changed });
    } catch {
      // It says so itself, to whoever asks for a token next.
    }
  }

  async used(record: CredentialRecord): Promise<void> {
    await this.#change(record, (current) =>
      current.version === record.version ? { ...current, lastUsedAt: this.#clock.now() } : undefined,
    ).catch(() => {});
  }

  async #renew(before: CredentialRecord | undefined, secrets: Secrets, wanted: CredentialRecord) {
    const record = await this.#storeSecrets(wanted, secrets);
    this.#faults.at('egress.secrets-stored');
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
    this.#faults.at('egress.credential-stored');
    await this.#clear(record, true);
    return record;
  }

  /** At the place of the first version that nobody took; a crash may have left some without a record. */
  async #storeSecrets(wanted: CredentialRecord, secrets: Secrets): Promise<CredentialRecord> {
    const taken = (await this.#vault.places(recordPlace(wanted, wanted.handle))).map(versionAt);
    const highest = Math.max(wanted.version, ...taken);
    for (let ahead = 1; ahead <= MOST_RIVALS; ahead += 1) {
      const record = { ...wanted, version: highest + ahead };
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

/** Of a place of secrets; 0 of a login that waits. */
const versionAt = (place: string): number => Number(/\.v(\d+)$/.exec(place)?.[1] ?? 0);

/** A newer version may be on its way in. */
const isOld = (place: string, version: number): boolean => versionAt(place) <= version;
