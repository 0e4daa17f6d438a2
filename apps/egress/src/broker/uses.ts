import type { CredentialHandle, CredentialRecord, EgressPermit } from '@toolfabric/contract';
import type { Clock, Logger } from '@toolfabric/kernel';
import type { KeptCredentials, Owner } from './kept-credentials.ts';
import { recordPlace } from './places.ts';

/** A credential whose secret went out from here, with the version that did. */
interface Use {
  readonly owner: Owner;
  readonly handle: CredentialHandle;
  readonly version: number;
  /** Milliseconds since the epoch: when it ends by itself. */
  readonly expiresAt: number;
  /** Monotonic milliseconds of the last time. */
  at: number;
  /** The same, of the last time that this was written down. */
  noted: number;
}

/** Ends the connections that carry a credential; resolves once they are closed. */
export type CloseCredential = (fits: (permit: EgressPermit, handle: string) => boolean) => Promise<{ closed: number }>;

export interface UsePorts {
  readonly kept: KeptCredentials;
  readonly close: CloseCredential;
  /** How long a connection may last, in milliseconds: what went out longer ago is not open any more. */
  readonly connectionMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOK_MS = 400;
/** Each note is a change of the record, at which all egress processes look. */
const NOTE_MS = 900_000;
const READS_AT_ONCE = 32;
const MOST_USES = 20_000;

const isOwners = ({ tenant, user }: Owner, handle: CredentialHandle, permit: EgressPermit): boolean =>
  permit.actor.tenant === tenant && (!handle.startsWith('user:') || permit.actor.user === user);

/** What is in use here, looked at again whenever a credential was changed: what may not go on is closed within a second. */
export class Uses {
  readonly #uses = new Map<string, Use>();
  readonly #ports: UsePorts;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #seen = -1;

  constructor(ports: UsePorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Before the secret goes out, so that a change in between finds it. */
  note(owner: Owner, record: CredentialRecord): void {
    const now = this.#ports.clock.monotonic();
    const { handle, version, expiresAt = Number.POSITIVE_INFINITY } = record;
    const key = `${recordPlace(owner, handle)}.v${version}`;
    const known = this.#uses.get(key);
    const use = known ?? { owner, handle, version, expiresAt, at: now, noted: now - NOTE_MS };
    use.at = now;
    // It was read before it stood here: a change in between was looked at without it.
    if (known === undefined) this.#seen = -1;
    this.#uses.delete(key);
    const [oldest] = this.#uses.keys();
    if (this.#uses.size >= MOST_USES && oldest !== undefined) this.#uses.delete(oldest);
    this.#uses.set(key, use);
    if (now - use.noted < NOTE_MS) return;
    use.noted = now;
    void this.#ports.kept.used(record);
  }

  /** Looks at all that is in use; resolves once what may not go on is closed. */
  async look(): Promise<void> {
    const { kept, clock, connectionMs } = this.#ports;
    const revision = await kept.lastRevision();
    this.#seen = revision;
    const all = [...this.#uses];
    try {
      for (let at = 0; at < all.length; at += READS_AT_ONCE) {
        await Promise.all(all.slice(at, at + READS_AT_ONCE).map((one) => this.#lookAt(one)));
      }
    } catch (thrown) {
      this.#seen = -1;
      throw thrown;
    }
    const old = clock.monotonic() - connectionMs;
    for (const [key, { at }] of this.#uses) if (at < old) this.#uses.delete(key);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#ports;
    const { signal } = this.#stopping;
    let isUnread = false;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal);
      if (signal.aborted) return;
      try {
        if (await this.#isDue()) await this.look();
        isUnread = false;
      } catch {
        if (!isUnread) log.warn('credentials.unread');
        isUnread = true;
      }
    }
  }

  async #isDue(): Promise<boolean> {
    const now = this.#ports.clock.now();
    for (const { expiresAt } of this.#uses.values()) if (expiresAt <= now) return true;
    return (await this.#ports.kept.lastRevision()) !== this.#seen;
  }

  async #lookAt([key, use]: readonly [string, Use]): Promise<void> {
    if (!(await this.#mayGoOn(use))) await this.#end(key, use);
  }

  /** One that only needs a login ends nothing: what went out with its last token went out rightly. */
  async #mayGoOn({ owner, handle, version, expiresAt }: Use): Promise<boolean> {
    const record = await this.#ports.kept.find(owner, handle);
    return record?.version === version && record.state !== 'revoked' && expiresAt > this.#ports.clock.now();
  }

  async #end(key: string, { owner, handle }: Use): Promise<void> {
    this.#uses.delete(key);
    const { closed } = await this.#ports.close((permit, shown) => shown === handle && isOwners(owner, handle, permit));
    if (closed > 0) this.#ports.log.info('credentials.closed', { tenant: owner.tenant, handle, closed });
  }
}
