import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '@toolfabric/kernel';
import { createCertificate, createKey, type Pem } from './create-authority.ts';

export interface LeafLimits {
  readonly leaves: number;
  readonly leafMs: number;
}

const HOUR_MS = 3_600_000;

/** Certificates that the authority makes for hosts whose exchange is read: one key of this process, kept in memory alone. */
export class Leaves {
  readonly #made = new Map<string, { readonly context: SecureContext; readonly renewAt: number }>();
  readonly #authority: Pem;
  readonly #key: Awaited<ReturnType<typeof createKey>>;
  readonly #limits: LeafLimits;
  readonly #clock: Clock;

  private constructor(authority: Pem, key: Awaited<ReturnType<typeof createKey>>, limits: LeafLimits, clock: Clock) {
    this.#authority = authority;
    this.#key = key;
    this.#limits = limits;
    this.#clock = clock;
  }

  static async create(authority: Pem, limits: LeafLimits, clock: Clock): Promise<Leaves> {
    return new Leaves(authority, await createKey(), limits, clock);
  }

  /** For a host in canonical form (an address without brackets). */
  contextFor(host: string): SecureContext {
    const now = this.#clock.now();
    const known = this.#made.get(host);
    if (known !== undefined && known.renewAt > now) return known.context;
    const context = this.#make(host, now);
    this.#made.delete(host);
    this.#made.set(host, { context, renewAt: now + this.#limits.leafMs / 2 });
    const [oldest] = this.#made.keys();
    if (this.#made.size > this.#limits.leaves && oldest !== undefined) this.#made.delete(oldest);
    return context;
  }

  #make(host: string, now: number): SecureContext {
    const times = { notBefore: new Date(now - HOUR_MS), notAfter: new Date(now + this.#limits.leafMs) };
    const options = { name: host, hosts: [host], issuer: this.#authority, ...times };
    const cert = createCertificate(options, this.#key.publicKey, this.#key.privateKey);
    return createSecureContext({
      cert: `${cert}${this.#authority.cert}`,
      key: this.#key.privateKey,
      minVersion: 'TLSv1.2',
    });
  }
}
