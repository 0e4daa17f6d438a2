import { EGRESS_REFUSAL_HEADER, EGRESS_REFUSALS, EgressRefusal } from '@toolfabric/contract';

/** What the way out did not let through, as often as it was tried. */
export interface RefusedHost {
  /** Host and port as the program named them. */
  readonly host: string;
  readonly reason: EgressRefusal | 'egress_unavailable';
  readonly times: number;
}

/** Of one call; what is tried beyond that is counted only. */
const MOST = 20;
const PLAIN = /^[A-Za-z0-9._:[\]-]{1,260}$/;

/** Of an answer that the way out itself gave; none where the host answered. */
export const reasonOf = (headers: Readonly<Record<string, unknown>>): EgressRefusal | undefined => {
  const said = headers[EGRESS_REFUSAL_HEADER];
  if (said === undefined) return undefined;
  const read = EgressRefusal.safeParse(said);
  return read.success ? read.data : 'request_malformed';
};

export const meaningOf = (reason: RefusedHost['reason']): string =>
  reason === 'egress_unavailable' ? 'The way out did not answer.' : EGRESS_REFUSALS[reason].meaning;

/** Remembers refusals, so that whoever called can mend the call. Bounded whatever a program tries. */
export class RefusedHosts {
  readonly #times = new Map<string, RefusedHost>();
  #more = 0;

  note(target: string, reason: RefusedHost['reason']): void {
    const host = PLAIN.test(target) ? target : '(no host)';
    const key = `${host} ${reason}`;
    const known = this.#times.get(key);
    if (known === undefined && this.#times.size >= MOST) this.#more += 1;
    else this.#times.set(key, { host, reason, times: (known?.times ?? 0) + 1 });
  }

  get list(): readonly RefusedHost[] {
    return [...this.#times.values()];
  }

  /** Tries that are not in the list. */
  get more(): number {
    return this.#more;
  }
}
