import { CLOCK_LEEWAY_MS, EGRESS_PERMIT_TYPE, EgressPermit, Envelope } from '@toolfabric/contract';
import type { Clock, Verifier } from '@toolfabric/kernel';
import { Refused } from '../refuse.ts';

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** When a permit is void: with the leeway between clocks that differ. */
export const endOf = (permit: EgressPermit): number => permit.expires + CLOCK_LEEWAY_MS;

/** The permit of an envelope as text. Throws `permit_malformed` for what no router signed for one of `kinds`, `permit_expired`. */
export const readPermit = (
  text: string,
  verifier: Verifier,
  kinds: readonly string[],
  clock: Clock,
): { readonly permit: EgressPermit; readonly body: string } => {
  const envelope = Envelope.safeParse(parseJson(text));
  const body = envelope.success ? verifier.open(envelope.data, EGRESS_PERMIT_TYPE, 'router') : undefined;
  const permit = EgressPermit.safeParse(body === undefined ? undefined : parseJson(body));
  if (body === undefined || !permit.success || !kinds.includes(permit.data.kind)) throw new Refused('permit_malformed');
  if (endOf(permit.data) <= clock.now()) throw new Refused('permit_expired');
  return { permit: permit.data, body };
};
