import { randomBytes } from 'node:crypto';
import { createRedactor, type Redactor } from '@toolfabric/results';

/** Redactors that are kept, one for each tenant and set of rules. */
const MOST_KEPT = 256;

/**
 * Hide secrets in what a person is shown. Without a key of the installation the marks are those of this process: nothing
 * is shown for want of a key.
 */
export class Redactors {
  readonly #secret: Uint8Array;
  readonly #kept = new Map<string, Redactor>();

  constructor(secret: Uint8Array = randomBytes(32)) {
    this.#secret = secret;
  }

  /** `rules` as `governance.redact` of a contract holds them. */
  for(tenant: string, rules: readonly string[] = []): Redactor {
    const key = JSON.stringify([tenant, rules]);
    const known = this.#kept.get(key);
    if (known) return known;
    const made = createRedactor({ secret: this.#secret, tenant, rules });
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, made);
    return made;
  }
}
