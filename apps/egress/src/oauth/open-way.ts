import { compileRules } from '../decide/compile-rules.ts';
import { ruleForRequest, rulesFor } from '../decide/decide.ts';
import { dial } from '../dial/dial.ts';
import { type Resolver, resolveAllowed } from '../dial/resolve.ts';
import type { EgressLimits } from '../limits.ts';
import { Refused } from '../refuse.ts';
import { normalisePath } from '../target/normalise-path.ts';
import { parseTarget } from '../target/parse-target.ts';
import { secureUpstream } from '../tls/secure-upstream.ts';
import type { PrivateOrigin } from './private-origins.ts';

export interface WaySettings {
  readonly resolver: Resolver;
  readonly limits: EgressLimits;
  /** Authorities (PEM) that may vouch for an authorisation server. */
  readonly ca: readonly string[];
  readonly privateOrigins: readonly PrivateOrigin[];
}

/** TLS alone and public addresses alone, but for an origin that the operator named. */
const namedAt = ({ origin }: URL, issuer: URL, { privateOrigins }: WaySettings): PrivateOrigin | undefined => {
  // A server of the outside does not lead inwards by what it says of its end points.
  const isInside = privateOrigins.some((named) => named.origin === issuer.origin);
  return isInside ? privateOrigins.find((named) => named.origin === origin) : undefined;
};

/**
 * A connection for one request to an authorisation server: decided, resolved, checked and dialled as every other that
 * leaves here. Throws `Refused`; nothing was sent then. `path` is as it must be asked.
 */
export const openWay = async (url: URL, method: string, issuer: URL, settings: WaySettings, signal: AbortSignal) => {
  const named = namedAt(url, issuer, settings);
  const scheme = url.protocol === 'http:' ? 'http' : 'https';
  if (scheme === 'http' && named === undefined) throw new Refused('scheme_not_permitted');
  if (url.username !== '' || url.password !== '' || url.hash !== '') throw new Refused('target_malformed');
  const target = parseTarget(url.host, scheme === 'http' ? 80 : 443);
  const addresses = named === undefined ? {} : { addresses: [...named.addresses] };
  const rules = compileRules([{ host: target.host, scheme, ports: [target.port], methods: [method], ...addresses }]);
  const path = normalisePath(url.pathname + url.search, false);
  const rule = ruleForRequest(rulesFor(rules, target, scheme), method, path);
  const found = await resolveAllowed(target, rule, settings.resolver, settings.limits, signal);
  const socket = await dial(found, target.port, settings.limits, signal);
  if (scheme === 'http') return { socket, path, host: url.host };
  return { socket: await secureUpstream(socket, target, settings.ca, undefined, signal), path, host: url.host };
};
