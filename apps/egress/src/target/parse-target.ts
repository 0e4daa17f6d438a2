import { isIPv4 } from 'node:net';
import { domainToUnicode } from 'node:url';
import { Refused } from '../refuse.ts';

/** Where a connection goes, in the one form in which it is compared, resolved and named to the other side. */
export interface Target {
  /** A name in lower case and Punycode without a closing dot, an IPv4 address, or an IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
  /** The address, when the host is one. */
  readonly address?: string;
}

const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const AUTHORITY = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,254})(?::([1-9]\d{0,4}))?$/;

/** A label that says it is Punycode and stands for nothing is left as it is. */
const BROKEN_PUNYCODE = /(?:^|\.)xn--/;

/** As WHATWG URL reads it: Punycode checked, and numeric forms turned into an address. */
const asUrlHost = (host: string): string | undefined => {
  const url = URL.parse(`http://${host}/`);
  return url?.hostname === '' ? undefined : url?.hostname;
};

/**
 * One host in canonical form. Throws `target_malformed` for whatever has another reading: addresses in octal, hex, short
 * or zoned form, two closing dots, broken Punycode, anything but plain letters.
 */
export const parseHost = (text: string): Omit<Target, 'port'> => {
  const plain = text.toLowerCase().replace(/\.$/, '');
  const host = asUrlHost(plain);
  if (host === undefined) throw new Refused('target_malformed');
  if (host.startsWith('[')) return { host, address: host.slice(1, -1) };
  if (host !== plain || host.length > 253) throw new Refused('target_malformed');
  if (isIPv4(host)) return { host, address: host };
  if (!NAME.test(host) || BROKEN_PUNYCODE.test(domainToUnicode(host))) throw new Refused('target_malformed');
  return { host };
};

/** `host:port` or, with a default, `host`. Throws `target_malformed`; nothing is unescaped, trimmed or guessed. */
export const parseTarget = (text: string, defaultPort?: number): Target => {
  const [, host, digits] = AUTHORITY.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === undefined || port > 65_535) throw new Refused('target_malformed');
  return { ...parseHost(host), port };
};

export const isSameTarget = (a: Target, b: Target): boolean => a.host === b.host && a.port === b.port;

const ABSOLUTE = /^http:\/\/([^/?#]*)([/?][^#]*)?$/;

/** The target and the path of a request in absolute form. Plain HTTP alone: anything else comes by CONNECT. */
export const parseAbsolute = (text: string): { target: Target; path: string } => {
  const [, authority, path = '/'] = ABSOLUTE.exec(text) ?? [];
  if (authority === undefined) throw new Refused('target_malformed');
  return { target: parseTarget(authority, 80), path: path.startsWith('?') ? `/${path}` : path };
};
