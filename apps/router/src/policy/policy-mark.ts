import { POLICY_BELL } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import { changeRecord, POLICY_KEY } from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';

/**
 * The number of the policy that holds, the same for every router. A router that comes to use another policy than it did
 * before counts it up; one that still has an older one decides under the number of now, until its files are those of the
 * others. Workers hear the number every second and hand back what was decided under a lower one.
 */
export class PolicyMark {
  readonly #ports: Pick<LedgerPorts, 'leases' | 'bells'>;
  readonly #clock: Clock;
  readonly #kinds: readonly string[];
  #told = '';
  #number = 0;

  constructor(ports: Pick<LedgerPorts, 'leases' | 'bells'>, clock: Clock, kinds: readonly string[]) {
    this.#ports = ports;
    this.#clock = clock;
    this.#kinds = kinds;
  }

  get now(): { readonly watermark?: number } {
    return this.#number === 0 ? {} : { watermark: this.#number };
  }

  /** Counts the policy when it is new to this router, and tells the workers. Throws `StoreUnavailable`. */
  async announce(version: string): Promise<void> {
    if (version !== this.#told) await this.#count(version);
    else this.#number = (await this.#ports.leases.get(POLICY_KEY))?.value.beat ?? this.#number;
    for (const kind of this.#kinds) this.#ports.bells.ring(kind, `${POLICY_BELL}${this.#number}`);
  }

  async #count(version: string): Promise<void> {
    const change = await changeRecord(
      this.#ports.leases,
      POLICY_KEY,
      (mark) => (mark?.holder === version ? undefined : { holder: version, beat: (mark?.beat ?? 0) + 1 }),
      { clock: this.#clock },
    );
    this.#number = (change.done ? change.value : change.current?.value)?.beat ?? this.#number;
    this.#told = version;
  }
}
