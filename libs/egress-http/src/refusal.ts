import { EGRESS_REFUSAL_HEADER, EGRESS_REFUSALS, EgressRefusal } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { RequestBroken } from '@toolfabric/ports';

/** The egress itself cannot serve, whoever asks. */
const UNAVAILABLE: ReadonlySet<EgressRefusal> = new Set([
  'permits_full',
  'floor_unreadable',
  'credential_not_ready',
  'stopping',
]);
/** The host did not get the request, for a reason of its own. */
const UNREACHABLE: ReadonlySet<EgressRefusal> = new Set(['resolve_failed', 'connect_failed']);
/** What can come after a request was handed over. */
const PERHAPS_SENT: ReadonlySet<EgressRefusal> = new Set([
  'host_broke',
  'response_malformed',
  'permit_revoked',
  'permit_closed',
  'permit_expired',
  'credential_ended',
  'budget_exceeded',
  'idle_timeout',
  'time_exceeded',
  'stopping',
]);

/** The reason in an answer that the egress itself gave; none where the host answered. */
export const refusalIn = (headers: Readonly<Record<string, unknown>>): EgressRefusal | undefined => {
  const said = headers[EGRESS_REFUSAL_HEADER];
  if (said === undefined) return undefined;
  const read = EgressRefusal.safeParse(said);
  return read.success ? read.data : 'request_malformed';
};

/** @param handed whether a request was handed over, so that some of it may have gone out. */
export const errorOf = (reason: EgressRefusal, host: string, handed: boolean): Error => {
  const text = `${reason}: ${EGRESS_REFUSALS[reason].meaning}${host === '' ? '' : ` (${host})`}`;
  if (handed && PERHAPS_SENT.has(reason)) return new RequestBroken(text);
  if (UNAVAILABLE.has(reason)) return new FabricError('egress_unavailable', text);
  return new FabricError(UNREACHABLE.has(reason) ? 'host_unreachable' : 'egress_refused', text);
};
