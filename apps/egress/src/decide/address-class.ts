import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

const cidr = (text: string): Range => ipaddr.parseCIDR(text) as Range;

/** Beside what the parser knows as special: addresses that answer inside a cloud, and ranges that lead elsewhere. */
const NEVER = ['168.63.129.16/32', '192.88.99.0/24', '192.0.0.0/24', '198.18.0.0/15', '240.0.0.0/4'].map(cidr);
const GLOBAL_IPV6 = cidr('2000::/3');
const NEVER_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48'].map(cidr);

const inRange = (address: Address, range: Range): boolean =>
  address.kind() === range[0].kind() && (address as ipaddr.IPv6).match(range as [ipaddr.IPv6, number]);

/** Whether an address may be dialled by default: a public unicast one that stands for itself and for no other. */
export const isPublic = (text: string): boolean => {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !NEVER.some((range) => inRange(address, range));
  return inRange(address, GLOBAL_IPV6) && !NEVER_IPV6.some((range) => inRange(address, range));
};

/** Whether one of `ranges` (CIDR) holds the address; a mapped address is in no range of IPv4. */
export const isNamed = (text: string, ranges: readonly string[]): boolean => {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  return ranges.some((range) => inRange(address, cidr(range)));
};

export const isRange = (text: string): boolean => ipaddr.isValidCIDR(text);
