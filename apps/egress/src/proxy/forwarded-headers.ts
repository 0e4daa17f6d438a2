import type { IncomingMessage } from 'node:http';
import { EGRESS_REFUSAL_HEADER } from '@toolfabric/contract';
import type { Rule } from '../decide/compile-rules.ts';
import { Refused } from '../refuse.ts';
import { isSameTarget, parseTarget, type Target } from '../target/parse-target.ts';

export type Headers = Record<string, string | string[]>;

const HOP = new Set(
  `connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade
   http2-settings expect`.split(/\s+/),
);
/** What frames or addresses a message may not be called hop-by-hop by whoever sends it. */
const FIXED = new Set(['content-length', 'host', 'transfer-encoding', 'content-type', 'content-encoding']);

/** Names in lower case with all their values, in the order in which they came; what is for one hop only is left out. */
export const endToEnd = (raw: readonly string[]): Headers => {
  const pairs = raw.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] ?? ''] as const] : []));
  const named = pairs.filter(([name]) => name === 'connection').flatMap(([, value]) => value.toLowerCase().split(','));
  const dropped = new Set(named.map((name) => name.trim()));
  if ([...dropped].some((name) => FIXED.has(name))) throw new Refused('request_malformed');
  const kept: Headers = Object.create(null);
  for (const [name, value] of pairs) {
    if (HOP.has(name) || dropped.has(name) || name.startsWith('proxy-') || name === EGRESS_REFUSAL_HEADER) continue;
    const before = kept[name];
    kept[name] = before === undefined ? value : [before, value].flat();
  }
  return kept;
};

const valuesOf = (req: IncomingMessage, name: string): string[] =>
  req.rawHeaders.flatMap((key, i) => (i % 2 === 0 && key.toLowerCase() === name ? [req.rawHeaders[i + 1] ?? ''] : []));

/**
 * Throws `request_malformed` for what two servers could read differently: more than one length or host, a length beside
 * chunks, another coding than chunked, too many headers, a line that was folded; `target_malformed` for another host.
 */
export const checkRequest = (req: IncomingMessage, target: Target, most: number): void => {
  const [lengths, codings, hosts] = ['content-length', 'transfer-encoding', 'host'].map((name) => valuesOf(req, name));
  const twice = [lengths, codings, hosts].some((values) => (values?.length ?? 0) > 1);
  const both = lengths?.length !== 0 && codings?.length !== 0;
  const strange = codings?.some((coding) => coding.toLowerCase() !== 'chunked');
  const folded = req.rawHeaders.some((text) => /[\r\n\0]/.test(text));
  const old = req.httpVersion !== '1.1' && codings?.length !== 0;
  if (twice || both || strange || folded || old || req.rawHeaders.length > 2 * most) {
    throw new Refused('request_malformed');
  }
  const host = hosts?.[0];
  if (host !== undefined && !isSameTarget(parseTarget(host, target.port), target))
    throw new Refused('target_malformed');
};

const DEFAULT_PORT = { https: 443, http: 80 } as const;

/** The headers of the request as it goes to the host. Injected ones take the place of the client's. */
export const requestHeaders = (
  req: IncomingMessage,
  target: Target,
  scheme: Rule['scheme'],
  injected: Readonly<Record<string, string>>,
): Headers => {
  const kept = endToEnd(req.rawHeaders);
  kept['host'] = target.port === DEFAULT_PORT[scheme] ? target.host : `${target.host}:${target.port}`;
  if (req.headers['transfer-encoding'] !== undefined) kept['transfer-encoding'] = 'chunked';
  else if (kept['content-length'] === undefined && !['GET', 'HEAD'].includes(req.method ?? '')) {
    kept['content-length'] = '0';
  }
  for (const [name, value] of Object.entries(injected)) kept[name.toLowerCase()] = value;
  return kept;
};

/** About what a head costs on the wire. */
export const headBytes = (first: string, headers: Headers): number =>
  Object.entries(headers).reduce(
    (sum, [name, values]) => sum + [values].flat().reduce((bytes, value) => bytes + name.length + value.length + 4, 0),
    first.length + 4,
  );
