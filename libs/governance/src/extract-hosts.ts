import { FabricError } from '@toolfabric/kernel';

const SCP_LIKE = /^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(?!\/\/)[^\s]*$/;
const PORT_ONLY = /^[^:/]+:\d{1,5}(\/|$)/;

const asUrl = (text: string): string => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text.replace(/^[^:]+/, 'http');
  const remote = PORT_ONLY.test(text) ? null : SCP_LIKE.exec(text);
  return `http://${remote ? remote[1] : text}`;
};

/**
 * The host of an address, of `host:port`, or of a remote such as `git@host:path`: in lower case and Punycode, numeric
 * forms as the plain address, without a closing dot. Undefined for what names no host.
 */
export const hostOf = (text: string): string | undefined => {
  // A URL parser drops these; whoever connects later may not.
  if (/[\p{Cc}\s\\]/u.test(text)) return undefined;
  const address = asUrl(text);
  if (!URL.canParse(address)) return undefined;
  const host = new URL(address).hostname.replace(/\.$/, '');
  return host === '' ? undefined : host;
};

/** Throws `invalid_arguments` for a text that names no host: a rule over hosts could not judge it. */
export const hostsOf = (texts: readonly { readonly pointer: string; readonly text: string }[]): string[] => {
  const hosts = texts.map(({ pointer, text }) => {
    const host = hostOf(text);
    if (host !== undefined) return host;
    throw new FabricError('invalid_arguments', `${pointer} names no host`, {
      fields: [{ field: pointer, expected: 'an address or a host name' }],
    });
  });
  return [...new Set(hosts)].sort();
};
