import { getSubdomain } from 'tldts';

/** Parameters that say where a visitor came from, and nothing of what is shown. */
const TRACKING =
  /^(?:utm_\w+|ga_\w+|hsa_\w+|mtm_\w+|pk_\w+|_hs\w+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid|mkt_tok|vero_id|oly_anon_id|oly_enc_id|wickedid|srsltid|ref_src|ref_url|spm|scid|cmpid|ncid)$/i;

/** Hosts under these names show what the bare host shows. */
const bareHost = (host: string): string =>
  getSubdomain(host, { allowPrivateDomains: true }) === 'www' ? host.slice('www.'.length) : host;

/**
 * What two addresses of one document have in common: scheme, `www`, tracking parameters, the order of parameters, a
 * closing slash and the fragment are left out. To compare by, never to ask for. Anything but http(s) stays as it is.
 */
export const canonicalAddress = (address: string): string => {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return address;
  const kept = [...url.searchParams].filter(([name]) => !TRACKING.test(name));
  const query = new URLSearchParams(kept.sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1)));
  const port = url.port === '' ? '' : `:${url.port}`;
  const path = url.pathname.replace(/\/(?:index\.html?)?$/, '');
  const host = bareHost(url.hostname.replace(/\.$/, ''));
  return `//${host}${port}${path}${query.size === 0 ? '' : `?${query}`}`;
};
