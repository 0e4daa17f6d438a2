import { z } from 'zod';

/** The header of an answer that the egress itself gave, with the reason as its value: no answer of the host has it. */
export const EGRESS_REFUSAL_HEADER = 'toolfabric-egress';

/** Why the egress let something not pass or ended it, with the HTTP status that its client is shown. */
export const EGRESS_REFUSALS = {
  permit_unknown: { status: 407, meaning: 'The request shows no token of an open permit.' },
  permit_malformed: { status: 400, meaning: 'This is no permit that a router signed for this egress.' },
  permit_expired: { status: 403, meaning: 'The permit has expired.' },
  permit_revoked: { status: 403, meaning: 'The permit was revoked.' },
  permit_closed: { status: 403, meaning: 'The permit was closed.' },
  permits_full: { status: 503, meaning: 'The egress holds as many permits as it may.' },
  floor_unreadable: { status: 503, meaning: 'It cannot be found out whether the permit was revoked.' },
  target_malformed: { status: 400, meaning: 'The target is not one host and port in plain form.' },
  request_malformed: { status: 400, meaning: 'The request can be read in more than one way, or not at all.' },
  host_not_permitted: { status: 403, meaning: 'The permit does not name this host.' },
  port_not_permitted: { status: 403, meaning: 'The permit does not name this port of the host.' },
  scheme_not_permitted: { status: 403, meaning: 'The permit does not allow this scheme for the host.' },
  method_not_permitted: { status: 403, meaning: 'The permit does not allow this method.' },
  path_not_permitted: { status: 403, meaning: 'The permit does not allow this path.' },
  path_malformed: { status: 400, meaning: 'The path can be read in more than one way.' },
  upgrade_not_permitted: { status: 403, meaning: 'An upgraded connection cannot be held to the rules of the permit.' },
  address_not_permitted: { status: 403, meaning: 'The host has an address that is not public and not named.' },
  resolve_failed: { status: 502, meaning: 'The name of the host leads to no address.' },
  connect_failed: { status: 502, meaning: 'No address of the host accepts the connection; nothing was sent.' },
  host_broke: { status: 502, meaning: 'The connection broke after the request began to go out.' },
  response_malformed: { status: 502, meaning: 'The host answered something that is not one whole response.' },
  tls_name: { status: 403, meaning: 'The name in the TLS handshake is not the host.' },
  tls_malformed: { status: 400, meaning: 'What came is not a TLS handshake within its bounds.' },
  tls_certificate: { status: 502, meaning: 'The certificate of the host is not good.' },
  tls_key: { status: 502, meaning: 'The host shows another key than the permit names.' },
  tls_unavailable: {
    status: 403,
    meaning: 'The permit has rules that only a read exchange can keep, and none can be read.',
  },
  credential_unavailable: {
    status: 403,
    meaning: 'The credential is not there any more, or its owner did not add it for this host, path and scheme.',
  },
  credential_not_ready: { status: 503, meaning: 'Nothing to show for the credential can be had just now.' },
  credential_ended: { status: 403, meaning: 'The credential was revoked, replaced or ran out while it was in use.' },
  budget_exceeded: { status: 403, meaning: 'The bytes of the permit are used up.' },
  too_many_connections: { status: 429, meaning: 'As many connections are open as may be.' },
  idle_timeout: { status: 504, meaning: 'Nothing moved for too long.' },
  time_exceeded: { status: 504, meaning: 'The connection lasted too long.' },
  stopping: { status: 503, meaning: 'The egress is stopping.' },
} as const satisfies Record<string, { readonly status: number; readonly meaning: string }>;

export const EgressRefusal = z.enum(Object.keys(EGRESS_REFUSALS) as (keyof typeof EGRESS_REFUSALS)[]);
export type EgressRefusal = z.infer<typeof EgressRefusal>;
